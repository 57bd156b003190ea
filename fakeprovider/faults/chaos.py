"""Faults drawn at random, the same ones every time: by seed, run key, turn and attempt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b

from fakeprovider.faults.kind import BadFault, Kind
from fakeprovider.faults.registry import FAULTS, Plan, find

_BLOCK = 100  # turns of a run in which there is at least one fault
MOST_SEED = 2**64

DRAWN: tuple[str, ...] = tuple(name for name, kind in FAULTS.items() if kind.chaos)
"""The faults of `--chaos` unless others are named: a decent client recovers from each."""


@dataclass(frozen=True, slots=True)
class Chaos:
    """Faults with probability `share` (0 to 1) on each attempt, drawn from `names`.

    However small the share, one turn of each hundred has a fault at its first attempt. Raises
    `BadFault`.
    """

    share: float
    seed: int = 0
    names: tuple[str, ...] = DRAWN

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise BadFault(f"chaos={self.share!r}: must be 0 to 1")
        if not 0 <= self.seed < MOST_SEED:
            raise BadFault(f"seed={self.seed!r}: must be 0 to 2**64 - 1")
        if not self.names:
            raise BadFault("chaos needs at least one fault to draw from")
        for name in self.names:
            find(name)

    def draw(self, run: str, turn: int, attempt: int, fits: Callable[[Kind], bool]) -> Plan | None:
        """The fault of this attempt, if it has one; only what `fits` is drawn."""
        chance, which = self._numbers(f"{run}|{turn}|{attempt}")
        if chance >= self.share * 2**32 and not self._due(run, turn, attempt):
            return None
        kinds = [kind for kind in map(find, self.names) if fits(kind)]
        if not kinds:
            return None
        kind = kinds[which % len(kinds)]
        return Plan(kind, kind.values({}))

    def _due(self, run: str, turn: int, attempt: int) -> bool:
        """Whether this is the turn of its hundred that has a fault in any case."""
        chosen, _ = self._numbers(f"{run}|block {turn // _BLOCK}")
        return self.share > 0 and attempt == 0 and turn % _BLOCK == chosen % _BLOCK

    def _numbers(self, key: str) -> tuple[int, int]:
        """Two numbers below 2**32 that follow from the seed and `key`."""
        digest = blake2b(f"{self.seed}|{key}".encode(), digest_size=8).digest()
        return int.from_bytes(digest[:4], "big"), int.from_bytes(digest[4:], "big")
