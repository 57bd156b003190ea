"""Time, as the loop reads it: injected, so that tests need not wait."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """What the loop needs of time."""

    def time(self) -> float:
        """Seconds since the epoch: comparable across processes."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start: never goes backwards within a process."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds`."""
        ...


class SystemClock:
    """The machine's clock."""

    def time(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class FakeClock:
    """A clock that moves only when told, or when somebody sleeps on it."""

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self.now = now

    def time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        """Let `seconds` pass."""
        self.now += seconds

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)
