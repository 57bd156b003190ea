"""`run`: the loop for callers without an event loop of their own."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from threading import Event, current_thread, main_thread
from typing import Any, TypeVar

from fakeprovider_harness.budget.charging import Pricing
from fakeprovider_harness.cancel import Cancel
from fakeprovider_harness.clock import Clock
from fakeprovider_harness.context.policy import ContextPolicy
from fakeprovider_harness.loop import arun
from fakeprovider_harness.models.base import Model
from fakeprovider_harness.settings import Settings
from fakeprovider_harness.state import RunState, Storage
from fakeprovider_harness.stop import Condition
from fakeprovider_harness.tools import Tool
from fakeprovider_harness.trace import Trace
from fakeprovider_harness.verify.verifier import Verifier

T = TypeVar("T")


def run(
    state: RunState,
    *,
    model: Model,
    stop: Condition | None,
    tools: Iterable[Tool] = (),
    price: Pricing = None,
    trace: Trace | None = None,
    store: Storage | None = None,
    cancel: Cancel | None = None,
    settings: Settings | None = None,
    clock: Clock | None = None,
    on_text: Callable[[str], None] | None = None,
    verify: Verifier | None = None,
    context: ContextPolicy | None = None,
) -> RunState:
    """`arun` to its end, in this thread; see there for arguments and exceptions.

    Ctrl-C sets the signal, lets the run end as cancelled, and is raised after that. Raises
    `RuntimeError` inside a running event loop: await `arun` there.
    """
    arguments: dict[str, Any] = {**locals(), "cancel": Cancel() if cancel is None else cancel}
    if _inside_loop():
        raise RuntimeError("run() inside a running event loop: await arun() instead")
    return until_done(arun(**arguments), arguments["cancel"])


def _inside_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def until_done(coroutine: Coroutine[Any, Any, T], cancel: Cancel) -> T:
    """Like `asyncio.run`, but a tool that ignores its cancellation does not keep it from ending.

    Ctrl-C sets `cancel`; the coroutine comes to its end, and then `KeyboardInterrupt` is raised.
    """
    loop = asyncio.new_event_loop()
    try:
        with _interrupts(loop, cancel) as pressed:
            result = loop.run_until_complete(coroutine)
    finally:
        _close(loop)
    if pressed.is_set():
        raise KeyboardInterrupt
    return result


@contextmanager
def _interrupts(loop: asyncio.AbstractEventLoop, cancel: Cancel) -> Iterator[Event]:
    """While it lasts, Ctrl-C sets the signal; what it yields tells whether that happened."""
    pressed = Event()

    def press() -> None:
        pressed.set()
        cancel.set("keyboard interrupt")

    # as asyncio.run does: only in the main thread, and over no handler of somebody else's
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not ours or current_thread() is not main_thread():
        yield pressed
        return
    loop.add_signal_handler(signal.SIGINT, press)
    try:
        yield pressed
    finally:
        loop.remove_signal_handler(signal.SIGINT)


def _close(loop: asyncio.AbstractEventLoop) -> None:
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        loop.run_until_complete(asyncio.wait(left, timeout=0.1))
        loop.set_exception_handler(lambda loop, context: None)  # given up, and reported as such
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()
