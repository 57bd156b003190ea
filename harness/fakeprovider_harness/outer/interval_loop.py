"""Loop: a prompt said again and again in one conversation, at an interval or at its own pace."""

from __future__ import annotations

import copy
import time
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from fakeprovider_harness.cancel import SignalFired, unless
from fakeprovider_harness.engine.transcript import say
from fakeprovider_harness.outer.caps import Caps, hit
from fakeprovider_harness.outer.report import (
    Iteration,
    OuterKind,
    OuterReport,
    OuterStop,
    Spent,
    used,
)
from fakeprovider_harness.outer.schedule import LONGEST, MINUTE, SHORTEST, Schedule, Task, in_words
from fakeprovider_harness.outer.setup import Setup, failed, needs_person
from fakeprovider_harness.state import RunState
from fakeprovider_harness.tools import Tool, ToolError

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
