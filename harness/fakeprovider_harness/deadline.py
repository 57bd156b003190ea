"""The signal of one request: set with the run's own, or when a limit of time is reached."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fakeprovider_harness.cancel import Cancel
from fakeprovider_harness.engine.run_context import RunContext


@asynccontextmanager
async def alarm(run: RunContext) -> AsyncIterator[Cancel]:
    """A signal that ends what is done inside when the run is cancelled or its time is up."""
    signal = run.cancel.child()
    ringing = asyncio.ensure_future(_ring(run, signal)) if run.time_left() is not None else None
    try:
        yield signal
    finally:
        signal.close()
        if ringing is not None:
            ringing.cancel()


async def _ring(run: RunContext, signal: Cancel) -> None:
    """Set the signal when the run's time is up; time that a pause takes may move that moment."""
    while (left := run.time_left()) is not None and left > 0:
        await run.clock.reach(run.clock.monotonic() + left)
    signal.set("the time of the run is up")
