"""Which attempt a request is: the ledger that a server keeps where a fault counts attempts.

It is the one thing about a reply that does not follow from the request: that the same request was
made before. It is bounded, and forgotten with the journal.
"""

from __future__ import annotations

from threading import Lock

from fakeprovider.parsing.caches import Bounded

MIB = 1 << 20


class Attempts:
    """Counts equal requests of a run; `limit` is in bytes, the longest unused go first."""

    def __init__(self, limit: int = 8 * MIB) -> None:
        self._limit = limit
        self._counts: Bounded[tuple[str, str], int] = Bounded(limit)
        self._lock = Lock()

    def next(self, run: str, digest: str, told: int = 0) -> int:
        """The number of this attempt, from 0; it is counted.

        The larger of what was counted and what the client says of itself (`told`).
        """
        with self._lock:
            key = (run, digest)
            attempt = max(self._counts.get(key) or 0, told)
            self._counts.put(key, attempt + 1, 2 * (len(run) + len(digest)) + 200)
        return attempt

    def clear(self, run: str | None = None) -> None:
        """Forget what was counted, or that of one run."""
        with self._lock:
            if run is None:
                self._counts = Bounded(self._limit)
                return
            for key in self._counts.known():
                if key[0] == run:
                    self._counts.drop(key)
