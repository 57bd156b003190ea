"""Work that ends early when the run's signal is set."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from .base import CancelSignal

T = TypeVar("T")


class SignalFired(Exception):
    """The signal came before the work was done; the work has been cancelled and has ended."""


async def unless(cancel: CancelSignal | None, work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`, or `SignalFired` if `cancel` is set first.

    Work that is done when the signal comes wins: its result has been paid for.
    """
    if cancel is None:
        return await work
    if cancel.cancelled:
        work.close()
        raise SignalFired
    task = asyncio.ensure_future(work)
    signal = asyncio.ensure_future(cancel.wait())
    try:
        await asyncio.wait((task, signal), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
    finally:
        signal.cancel()
        if not task.done():
            task.cancel()
            await asyncio.wait((task,))
    raise SignalFired
