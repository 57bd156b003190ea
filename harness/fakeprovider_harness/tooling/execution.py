"""One tool function, run until it ends, is told to stop, or is given up.

A sync function runs in a daemon thread that is its own until it ends, with the context of the run:
nothing waits for a thread that hangs, neither the run nor the end of the process. A thread cannot
be killed; what it does after it was given up is reported and its result dropped. Where it returns
something to await, as a lambda around an async function does, that is awaited in the loop.

Not an executor of the standard library, since those are waited for when the process ends, and a
tool that hangs would keep it from ending.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import os
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

from fakeprovider_harness.cancel import Cancel, finish, tell, wake


@dataclass(frozen=True)
class Ended:
    """How a function ended: with a value or with an exception."""

    value: Any = None
    error: BaseException | None = None


@dataclass(frozen=True)
class Execution:
    """What came of running a function.

    `ended` is None if it was given up; `told` is why it was told to stop, None if it was not.
    """

    ended: Ended | None
    told: str | None = None
    timed_out: bool = False


class Work:
    """A function at work: `finished` is done when it has ended, unless it was given up before."""

    def __init__(self, fn: Callable[..., Any], arguments: dict[str, Any]) -> None:
        self._loop = asyncio.get_running_loop()
        self.finished: asyncio.Future[None] = self._loop.create_future()
        self._lock = threading.Lock()
        self._ended: Ended | None = None
        self._on_late: Callable[[Ended], None] | None = None
        self._task: asyncio.Task[None] | None = None
        self._interrupted = False
        if _is_async(fn):
            self._begin(fn(**arguments))
        else:
            self._start_thread(lambda: fn(**arguments))

    @property
    def ended(self) -> Ended | None:
        """How it ended, None while it works."""
        return self._ended

    def interrupt(self) -> None:
        """Cancel an async function; a thread can only be asked, through its signal."""
        self._interrupted = True
        if self._task is not None:
            self._task.cancel()

    def give_up(self, on_late: Callable[[Ended], None]) -> Ended | None:
        """Stop caring for the end, unless it has come; `on_late` may be called in any thread."""
        with self._lock:
            if self._ended is None:
                self._on_late = on_late
            return self._ended

    def _start_thread(self, call: Callable[[], Any]) -> None:
        WORKERS.run(partial(contextvars.copy_context().run, self._work, call))

    def _work(self, call: Callable[[], Any]) -> None:
        try:
            ended = Ended(call())
        except BaseException as error:  # whatever a tool raises is its result
            ended = Ended(error=error)
        if inspect.isawaitable(ended.value):
            self._hand_over(ended.value)
        else:
            self._deliver(ended)

    def _hand_over(self, value: Awaitable[Any]) -> None:
        """What a thread returned to be awaited goes on in the loop, unless it was given up."""
        with self._lock:  # as in `_deliver`
            wanted = self._on_late is None and tell(self._loop, partial(self._go_on, value))
        if not wanted:
            self._drop(value)

    def _go_on(self, value: Awaitable[Any]) -> None:
        if self._interrupted:
            self._drop(value)
        else:
            self._begin(value)

    def _drop(self, value: Awaitable[Any]) -> None:
        """Nothing of it was begun, and nothing will be."""
        if inspect.iscoroutine(value):
            value.close()
        self._deliver(Ended(error=asyncio.CancelledError()))

    def _begin(self, value: Awaitable[Any]) -> None:
        self._task = self._loop.create_task(self._await(value))
        self._task.add_done_callback(lambda task: self._end_unbegun(value))

    def _end_unbegun(self, value: Awaitable[Any]) -> None:
        """A task that is cancelled before its first step never comes to its own end."""
        if self._ended is None:
            self._drop(value)

    async def _await(self, value: Awaitable[Any]) -> None:
        try:
            ended = Ended(await value)
        except BaseException as error:  # whatever a tool raises is its result
            ended = Ended(error=error)
        self._deliver(ended)

    def _deliver(self, ended: Ended) -> None:
        with self._lock:
            self._ended = ended
            late = self._on_late
            if late is None:  # under the lock: once it was given up, the loop may be closed
                self._finish()
        if late is not None:
            late(ended)

    def _finish(self) -> None:
        if self._task is not None:
            finish(self.finished)
        else:
            wake(self._loop, self.finished)


def _is_async(fn: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(
        getattr(fn, "__call__", None)  # noqa: B004 - an object with an async __call__
    )


async def execute(
    fn: Callable[..., Any],
    arguments: dict[str, Any],
    *,
    cancel: Cancel,
    timeout: float | None,
    grace: float,
    heeds: bool,
    on_late: Callable[[Ended], None],
) -> Execution:
    """Run `fn` until it ends, `cancel` is set or `timeout` seconds have passed.

    `cancel` is the call's own signal; a timeout sets it. The function then has `grace` seconds to
    return before it is given up. An async function is cancelled, in the middle of its grace if it
    `heeds` the signal, else at once.
    """
    work = Work(fn, arguments)
    try:
        await _first_of(work, cancel, timeout)
        if work.ended is not None:
            return Execution(work.ended)
        timed_out = not cancel.cancelled
        cancel.set(f"timed out after {timeout:g} s" if timed_out else "cancelled")
        await _grant(work, grace, heeds)
        return Execution(work.give_up(on_late), cancel.reason, timed_out)
    finally:
        if work.give_up(on_late) is None:
            work.interrupt()


async def _grant(work: Work, grace: float, heeds: bool) -> None:
    """Let a function that was told to stop come to its end."""
    if heeds:
        grace /= 2
        await _first_of(work, None, grace)
    if work.ended is None:
        work.interrupt()
        await _first_of(work, None, grace)


async def _first_of(work: Work, cancel: Cancel | None, timeout: float | None) -> None:
    """Return when the work has ended, the signal is set or the time is up."""
    loop = asyncio.get_running_loop()
    stopped: asyncio.Future[None] = loop.create_future()
    forget = cancel.listen(lambda: wake(loop, stopped)) if cancel is not None else None
    try:
        waits = (work.finished, stopped)
        await asyncio.wait(waits, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
    finally:
        if forget is not None:
            forget()


IDLE = 10.0
"""Seconds that a thread without work stays."""

Job = Callable[[], object]


class Workers:
    """Runs each job at once, in a thread that is idle or in a new one.

    A job that hangs keeps its thread and nothing else. Jobs must not raise.
    """

    def __init__(self, idle: float = IDLE) -> None:
        self._seconds = idle
        self._lock = threading.Lock()
        self._idle: list[SimpleQueue[Job]] = []

    def run(self, job: Job) -> None:
        """Start `job`; returns without waiting for it."""
        with self._lock:
            idle = self._idle.pop() if self._idle else None
        jobs = SimpleQueue[Job]() if idle is None else idle
        jobs.put(job)  # not an argument of the thread, which would keep it as long as it lives
        if idle is None:
            threading.Thread(target=self._serve, args=(jobs,), name="tool", daemon=True).start()

    def forget(self) -> None:
        """Start anew, in a child process that has none of these threads."""
        self._lock = threading.Lock()
        self._idle = []

    def _serve(self, jobs: SimpleQueue[Job]) -> None:
        job: Job | None = jobs.get()
        while job is not None:
            job()
            job = None  # what it holds may be freed while the thread waits
            with self._lock:
                self._idle.append(jobs)
            job = self._next(jobs)

    def _next(self, jobs: SimpleQueue[Job]) -> Job | None:
        try:
            return jobs.get(timeout=self._seconds)
        except Empty:
            with self._lock:
                if jobs in self._idle:
                    self._idle.remove(jobs)
                    return None
        return jobs.get()  # it was taken at the last moment: the job is on its way


WORKERS = Workers()
"""The threads of this process."""

if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=WORKERS.forget)
