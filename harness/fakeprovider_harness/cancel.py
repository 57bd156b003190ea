"""The one signal that ends a run early, whatever it is doing, with the caller's reason."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

from fakeprovider_harness.models.base import CancelSignal


class Cancel:
    """A signal that can be set once, from any thread, and reaches everything that listens.

    A child (`cancel.child()`) is set with its parent but can be set alone: a tool's timeout
    reaches the tool and not the run.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._event = threading.Event()
        self._listeners: list[Callable[[], None]] = []
        self._reason: str | None = None
        self._detach: Callable[[], None] = lambda: None

    @property
    def cancelled(self) -> bool:
        """Whether the signal is set."""
        return self._event.is_set()

    @property
    def reason(self) -> str | None:
        """Why, in the caller's words; None while it is not set."""
        return self._reason

    def set(self, reason: str = "cancelled") -> None:
        """Set the signal; a second call changes nothing, the first reason stands."""
        with self._lock:
            if self._event.is_set():
                return
            self._reason = reason
            self._event.set()
            listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener()

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` once when the signal is set (at once if it is); returns how to undo it.

        The listener runs in the thread that sets the signal and must neither block nor raise.
        """
        with self._lock:
            if not self._event.is_set():
                self._listeners.append(listener)
                return lambda: self._forget(listener)
        listener()
        return lambda: None

    def _forget(self, listener: Callable[[], None]) -> None:
        with self._lock:
            if listener in self._listeners:
                self._listeners.remove(listener)

    def child(self) -> Cancel:
        """A signal set together with this one, or earlier by itself; `close()` it when done."""
        child = Cancel()
        child._detach = self.listen(lambda: child.set(self._reason or "cancelled"))
        return child

    def close(self) -> None:
        """Stop listening to the parent."""
        self._detach()

    async def wait(self) -> None:
        """Return when the signal is set, in any thread."""
        loop = asyncio.get_running_loop()
        fired: asyncio.Future[None] = loop.create_future()
        forget = self.listen(lambda: wake(loop, fired))
        try:
            await fired
        finally:
            forget()

    def wait_sync(self, seconds: float) -> bool:
        """Block a thread for up to `seconds`; True as soon as the signal is set."""
        return self._event.wait(seconds)


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
