"""The one signal that ends a run early, whatever it is doing, with the caller's reason."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from harness.models.race import wake


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
