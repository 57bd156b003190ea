"""Work that ends early when the run's signal is set."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
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
    loop = asyncio.get_running_loop()
    task, fired = loop.create_task(work), loop.create_future()
    forget = cancel.listen(lambda: wake(loop, fired))
    try:
        await asyncio.wait((task, fired), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
    finally:
        forget()
        if not task.done():
            task.cancel()
            await asyncio.wait((task,))
    raise SignalFired


def wake(loop: asyncio.AbstractEventLoop, future: asyncio.Future[None]) -> None:
    """Finish `future` in its loop, from any thread, if it is still waited for."""
    tell(loop, partial(finish, future))


def tell(loop: asyncio.AbstractEventLoop, callback: Callable[[], object]) -> bool:
    """Have `callback` called in a loop, from any thread; False, and no more, if that is closed."""
    try:
        loop.call_soon_threadsafe(callback)
    except RuntimeError:  # asking first is no use: it may be closed in between
        return False
    return True


def finish(future: asyncio.Future[None]) -> None:
    """Finish `future` unless it is finished."""
    if not future.done():
        future.set_result(None)
