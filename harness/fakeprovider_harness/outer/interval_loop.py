"""Loop: a prompt said again and again in one conversation, at an interval or at its own pace.

Intervals as people write them and the tasks that are due come first, then the loop.
"""

from __future__ import annotations

import copy
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from fakeprovider_harness.cancel import SignalFired, unless
from fakeprovider_harness.engine.transcript import say
from fakeprovider_harness.outer.caps import Caps, hit
from fakeprovider_harness.outer.plan_file import write
from fakeprovider_harness.outer.report import (
    Iteration,
    OuterKind,
    OuterReport,
    OuterStop,
    Spent,
    used,
)
from fakeprovider_harness.outer.setup import Setup, failed, needs_person
from fakeprovider_harness.state import RunState
from fakeprovider_harness.tools import Tool, ToolError

MINUTE, HOUR, DAY = 60.0, 3_600.0, 86_400.0
SHORTEST, LONGEST = MINUTE, HOUR  # seconds: what a model may choose
EXPIRY = 7 * DAY
MOST = 50
_INTERVAL = re.compile(r"(\d+)\s*([smhd])")
_SECONDS = {"s": 1.0, "m": MINUTE, "h": HOUR, "d": DAY}


class TooManyTasks(ValueError):
    """There are fifty scheduled tasks already."""


def parse_interval(text: str) -> tuple[float, str]:
    """Seconds of an interval such as "30s", "5m", "2h" or "1d", and what to say about it.

    Below a minute it is rounded up to one, which is said; else the words are empty. Raises
    `ValueError` for anything else, and for 0.
    """
    found = _INTERVAL.fullmatch(text.strip().lower())
    seconds = int(found.group(1)) * _SECONDS[found.group(2)] if found else 0.0
    if seconds <= 0:
        raise ValueError(f"{text!r} is not an interval: write it as 30s, 5m, 2h or 1d")
    if seconds < SHORTEST:
        return SHORTEST, f"{text} is below a minute: it is rounded up to 1m"
    return seconds, ""


def in_words(seconds: float) -> str:
    """A time to wait, in the largest unit that it fills."""
    units = {"day": DAY, "hour": HOUR, "minute": MINUTE, "second": 1.0}
    word = next((word for word, size in units.items() if seconds >= size), "second")
    shown = f"{seconds / units[word]:.3g}"
    return f"{shown} {word}" if shown == "1" else f"{shown} {word}s"


class Task(msgspec.Struct, omit_defaults=True):
    """A prompt that is said again and again; times in seconds since the epoch.

    `every` None: the model says each time when to go on. `due` None: it is being fired. `spent` is
    what its rounds have used, in whatever process; one that was broken off counts once it has come
    to its end.
    """

    id: int
    prompt: str
    every: float | None
    made: float
    due: float | None
    fired: int = 0
    spent: Spent = Spent()


class Schedule:
    """The tasks of a loop: at most fifty; those with an interval expire seven days after they were
    made, after a last firing.

    With `path` they are kept in that file, and found there by a later process.
    """

    def __init__(self, path: str | Path | None = None, *, expiry: float = EXPIRY) -> None:
        self._path = None if path is None else Path(path)
        self.expiry = expiry
        self.tasks: list[Task] = []
        if self._path is not None and self._path.exists():
            self.tasks = msgspec.json.decode(self._path.read_bytes(), type=list[Task])
            self._take_up()

    def add(self, prompt: str, now: float, every: float | None = None) -> Task:
        """A task that is due at once; raises `TooManyTasks` at fifty."""
        if len(self.tasks) >= MOST:
            raise TooManyTasks(f"{MOST} tasks are scheduled: remove one first")
        task = Task(max((task.id for task in self.tasks), default=0) + 1, prompt, every, now, now)
        self.tasks.append(task)
        self._keep()
        return task

    def remove(self, task: Task) -> None:
        """Never fire it again."""
        self.tasks.remove(task)
        self._keep()

    def next(self) -> Task | None:
        """The task that is due first; None where none is due ever."""
        waiting = [(task.due, task.id, task) for task in self.tasks if task.due is not None]
        return min(waiting)[2] if waiting else None

    def spent(self) -> Spent:
        """What the rounds of all tasks have used."""
        return sum((task.spent for task in self.tasks), Spent())

    def fire(self, task: Task) -> None:
        """Take note that a task is being fired: until it is put off again it is not due."""
        task.fired += 1
        task.due = None
        self._keep()

    def back(self, task: Task, now: float) -> None:
        """Let a fired task be due at once: it was broken off, by a person, a cap or a failure."""
        task.due = now
        self._keep()

    def again(self, task: Task, now: float, delay: float | None) -> bool:
        """Let a fired task wait for its interval or for `delay` seconds, from now: what was missed
        in the meantime is not made up for. False, and it is gone, where it has expired or there is
        nothing to wait for.
        """
        wait = delay if task.every is None else task.every
        if wait is None or self.expired(task, now):
            self.remove(task)
            return False
        task.due = now + wait
        self._keep()
        return True

    def expired(self, task: Task, now: float) -> bool:
        """Whether a task with an interval has lived its time."""
        return task.every is not None and now - task.made >= self.expiry

    def _take_up(self) -> None:
        """What was being fired when a process died is due since it was made."""
        for task in self.tasks:
            task.due = task.made if task.due is None else task.due

    def _keep(self) -> None:
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write(self._path, msgspec.json.encode(self.tasks))


WAIT: dict[str, Any] = {
    "type": "object",
    "properties": {"minutes": {"type": "number"}, "reason": {"type": "string"}},
    "required": ["minutes", "reason"],
}
END: dict[str, Any] = {
    "type": "object",
    "properties": {"reason": {"type": "string"}},
    "required": ["reason"],
}
FAILURES = 3


@dataclass
class Pace:
    """What the model said of when to go on: in how many seconds and why; or why not at all."""

    delay: float | None = None
    reason: str = ""
    ended: bool = False

    def tools(self) -> list[Tool]:
        """`wait(minutes, reason)` and `end_loop(reason)`: they change this loop, nothing else."""
        return [
            Tool(
                "wait",
                "Go on after this many minutes, 1 to 60. Call it last, in each round.",
                WAIT,
                self._wait,
                idempotent=True,
            ),
            Tool(
                "end_loop",
                "End the loop: there is nothing left to come back for.",
                END,
                self._end,
                idempotent=True,
            ),
        ]

    def _wait(self, minutes: float, reason: str) -> str:
        if not reason.strip():
            raise ToolError("say why: the reason is shown to the user.")
        self.delay = min(max(minutes * MINUTE, SHORTEST), LONGEST)
        self.reason, self.ended = reason, False
        bounded = "" if self.delay == minutes * MINUTE else " (it may be 1 to 60)"
        return f"Going on in {self.delay / MINUTE:g} minutes{bounded}."

    def _end(self, reason: str) -> str:
        self.delay, self.reason, self.ended = None, reason, True
        return "The loop ends after this round."


async def loop(state: RunState, schedule: Schedule, setup: Setup, caps: Caps) -> OuterReport:
    """Fire the tasks of `schedule` in the conversation `state`, each when it is due.

    It fires only between runs: one that takes longer than an interval is not interrupted, and what
    was missed is not made up for. A task with an interval ends by the user, its expiry or a cap;
    one at its own pace, when the model ends it or does not say when to go on. Three failed runs in
    a row end it too, and so does what needs a person. `caps` count what the rounds of the schedule
    have used in all processes.
    """
    return await _Loop(state, schedule, setup, caps).go()


class _Loop:
    def __init__(self, state: RunState, schedule: Schedule, setup: Setup, caps: Caps) -> None:
        self.state, self.schedule, self.setup, self.caps = state, schedule, setup, caps
        self.iterations: list[Iteration] = []
        self.earlier = schedule.spent()
        self.failures = 0
        self.ended = OuterStop(OuterKind.USER, evidence={"reason": "nothing is scheduled"})

    async def go(self) -> OuterReport:
        while True:
            stop = await self._turn()
            if stop is not None:
                return OuterReport("loop", self.iterations, stop)

    async def _turn(self) -> OuterStop | None:
        """Wait for the next task and fire it; or why there is nothing more to wait for."""
        stop = self._cancelled() or self.caps.reached(self._spent())
        task = self.schedule.next()
        if stop is not None or task is None:
            return stop or self.ended
        await self._wait_for(task)
        return self._cancelled() or await self._fire(task)

    def _cancelled(self) -> OuterStop | None:
        cancel = self.setup.cancel
        if not cancel.cancelled:
            return None
        return OuterStop(OuterKind.USER, evidence={"reason": cancel.reason})

    async def _wait_for(self, task: Task) -> None:
        wait = (task.due or 0.0) - self.setup.clock.time()
        if wait > 0:
            if task.every is not None:
                self.setup.say(f"next round {_moment(task.due or 0.0)}, in {in_words(wait)}")
            try:
                await unless(self.setup.cancel, self.setup.clock.sleep(wait))
            except SignalFired:
                return

    async def _fire(self, task: Task) -> OuterStop | None:
        self.schedule.fire(task)
        pace = Pace()
        before = copy.copy(self.state)
        before.turns = list(self.state.turns)
        began, since = self.setup.clock.time(), self.setup.clock.monotonic()
        if not self.state.interruptions:  # a round that waits for a person goes on where it was
            say(self.state, task.prompt)
        room = self.caps.room(self._spent(), _own(self.state))
        await self.setup.run(self.state, room, pace.tools() if task.every is None else ())
        self.iterations.append(
            replace(
                Iteration(len(self.iterations) + 1, self.state.run_id, began, task=task.prompt),
                seconds=self.setup.clock.monotonic() - since,
                **used(self.state, before),
            )
        )
        self.failures = self.failures + 1 if failed(self.state) else 0
        stop = hit(room, self.state) or self._blocked() or self._cancelled()
        used_up = OuterReport("loop", self.iterations[-1:], self.ended).spent
        task.spent += used_up if stop is None else replace(used_up, iterations=0)
        if stop is not None:
            self.schedule.back(task, self.setup.clock.time())
            return stop
        return self._again(task, pace)

    def _blocked(self) -> OuterStop | None:
        if self.failures >= FAILURES:
            evidence = {"reason": self.state.reason}
            return OuterStop(OuterKind.FAILURES, str(self.failures), str(FAILURES), evidence)
        return needs_person(self.state)

    def _again(self, task: Task, pace: Pace) -> OuterStop | None:
        """Put the task off, and say what will happen; a task that ends does not end the others."""
        now = self.setup.clock.time()
        if self.schedule.again(task, now, pace.delay):
            if pace.delay is not None:
                self.setup.say(f"going on in {pace.delay / MINUTE:g} minutes: {pace.reason}")
            return None
        if task.every is not None:
            days = self.schedule.expiry / (24 * 60 * MINUTE)
            words = f"{days:g} days after it was made"
            self.ended = OuterStop(OuterKind.EXPIRED, evidence={"reason": words})
        elif pace.ended:
            self.ended = OuterStop(OuterKind.ENDED, evidence={"reason": pace.reason})
        else:
            words = "the model did not say when to go on"
            self.ended = OuterStop(OuterKind.IDLE, evidence={"reason": words})
        self.setup.say(f"task {task.id} ends: {self.ended.evidence['reason']}")
        return None

    def _spent(self) -> Spent:
        return self.earlier + OuterReport("loop", self.iterations, self.ended).spent


def _moment(when: float) -> str:
    return time.strftime("on %Y-%m-%d at %H:%M:%S", time.localtime(when))


def _own(state: RunState) -> Spent:
    """What the conversation has used by itself, whoever paid for it."""
    return Spent(0, state.cost_usd, state.total_tokens, state.times.active)
