"""Who owns a run: an OS lock on a file beside the database, which death releases.

The file is removed with the claim. Between opening a file and locking it another process may remove
it, and a third one make it anew: two owners of one name. So files are opened, locked, let go and
removed under one more lock, which is held for no longer than that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from harness.storage import RunBusy

POLL, PATIENCE = 0.001, 10.0
"""Seconds between two looks at a lock that is held for microseconds, and until they are given up:
its owner was stopped in the middle of them."""


class Claims:
    """Claims on runs, as files in `folder`, which is made if need be."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def claim(self, run_id: str) -> Iterator[None]:
        """Own the run until the context ends; raises `RunBusy` if another owner lives."""
        name = hashlib.sha256(run_id.encode()).hexdigest()[:32]
        path = self._folder / f"{name}.lock"
        lock = FileLock(path, timeout=0)
        try:
            with self.exclusively("claims", PATIENCE):
                lock.acquire()
        except Timeout:
            raise RunBusy(f"run {run_id!r} is being run by another process") from None
        try:
            yield
        finally:
            self._let_go(lock, path)

    def exclusively(self, what: str, patience: float = -1) -> FileLock:
        """A lock to hold for a moment; `filelock.Timeout` after `patience` seconds, -1: never."""
        return FileLock(self._folder / f"{what}.lock", timeout=patience, poll_interval=POLL)

    def _let_go(self, lock: FileLock, path: Path) -> None:
        try:
            with self.exclusively("claims", PATIENCE):
                lock.release()
                path.unlink(missing_ok=True)
        except (Timeout, OSError):  # it stays, and is removed with the next claim
            lock.release()
