"""The clock of a leg's retries: what is slept on it is waiting, not work."""

from __future__ import annotations

from harness.leg import Leg


class Pauses:
    """A clock that tells the leg how long it was slept on."""

    def __init__(self, leg: Leg) -> None:
        self._leg = leg

    def time(self) -> float:
        return self._leg.clock.time()

    def monotonic(self) -> float:
        return self._leg.clock.monotonic()

    async def sleep(self, seconds: float) -> None:
        with self._leg.pausing():
            await self._leg.clock.sleep(seconds)

    async def reach(self, moment: float) -> None:
        await self._leg.clock.reach(moment)
