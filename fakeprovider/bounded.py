"""A cache whose size is counted in bytes: what a long-lived server may remember."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

_SLOT = 120  # bytes of an entry's own: dict slot, list node, key tuple, the stored cost


class Bounded(Generic[K, V]):
    """The most recently used values, as many as fit in `limit` bytes.

    The caller says what an entry costs; what costs more than the limit is not kept.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self._entries: OrderedDict[K, tuple[V, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: K) -> V | None:
        """The value under `key`, if it is still remembered."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        self._entries.move_to_end(key)
        return entry[0]

    def put(self, key: K, value: V, cost: int) -> V:
        """Remember `value`, which takes `cost` bytes with its key; returns it."""
        self.drop(key)
        cost += _SLOT
        if cost <= self.limit:
            self._entries[key] = (value, cost)
            self.used += cost
        while self.used > self.limit:
            self.used -= self._entries.popitem(last=False)[1][1]
        return value

    def known(self) -> list[K]:
        """The keys that are remembered, the longest unused first."""
        return list(self._entries)

    def drop(self, key: K) -> None:
        """Forget `key`, if it is there."""
        entry = self._entries.pop(key, None)
        if entry is not None:
            self.used -= entry[1]
