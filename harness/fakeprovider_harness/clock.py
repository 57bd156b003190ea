"""Time as the loop reads it, injected so that tests need not wait; and the readings of a run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from fakeprovider_harness.records import Times


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


class RunClock:
    """Reads a clock into the times of one run: what has passed, and what of it was waiting.

    It is a clock as well, for what pauses on behalf of the run: a sleep on it counts as waiting.
    """

    def __init__(self, times: Times, source: Clock) -> None:
        self.source = source
        self.paused = 0.0
        self._times = times
        self._pausing: float | None = None

    def begin(self, *, first: bool) -> float:
        """Start to count; returns how many seconds ago the run was left, 0 if this is its start."""
        times, now = self._times, self.time()
        away = 0.0 if first else max(0.0, now - times.left)
        if first:
            times.started = now
        self._began = self.monotonic()
        self._elapsed = max(times.elapsed, now - times.started)
        self._active, self._waited = times.active, times.waited
        return away

    def tick(self) -> None:
        """Bring the times of the run up to now."""
        now, times = self.source.monotonic(), self._times
        passed = now - self._began
        paused = self.paused + (0.0 if self._pausing is None else now - self._pausing)
        times.elapsed = self._elapsed + passed
        times.active = self._active + passed - paused
        times.waited = self._waited + paused
        times.left = self.source.time()

    @contextmanager
    def pausing(self) -> Iterator[None]:
        """Count what passes inside as waiting, not as work."""
        self._pausing = self.monotonic()
        try:
            yield
        finally:
            self.paused += self.monotonic() - self._pausing
            self._pausing = None

    def time(self) -> float:
        return self.source.time()

    def monotonic(self) -> float:
        return self.source.monotonic()

    async def sleep(self, seconds: float) -> None:
        with self.pausing():
            await self.source.sleep(seconds)

    async def reach(self, moment: float) -> None:
        await self.source.reach(moment)
