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

    async def reach(self, moment: float) -> None:
        """Return once `monotonic()` has come to `moment`, without making it come."""
        ...


REACTION = 20
"""Rounds of the event loop in which whoever was woken can act."""


class SystemClock:
    """The machine's clock."""

    def time(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def reach(self, moment: float) -> None:
        while (left := moment - time.monotonic()) > 0:
            await asyncio.sleep(left)


class FakeClock:
    """A clock that moves only when told, or when somebody sleeps on it.

    Whoever waits to reach a moment is woken when the clock passes it; a sleep that passes it stops
    there for as long as it takes to react.
    """

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self.now = now
        self._waiting: list[tuple[float, asyncio.Event]] = []

    def time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        """Let `seconds` pass."""
        self.now += seconds
        self._wake()

    async def sleep(self, seconds: float) -> None:
        end = self.now + seconds
        while (moment := min((at for at, _ in self._waiting), default=end)) < end:
            self.now = max(self.now, moment)
            self._wake()
            for _ in range(REACTION):
                await asyncio.sleep(0)
        self.advance(max(0.0, end - self.now))
        await asyncio.sleep(0)

    async def reach(self, moment: float) -> None:
        if moment > self.now:
            woken = asyncio.Event()
            self._waiting.append((moment, woken))
            await woken.wait()

    def _wake(self) -> None:
        for waiting in [waiting for waiting in self._waiting if waiting[0] <= self.now]:
            self._waiting.remove(waiting)
            waiting[1].set()
