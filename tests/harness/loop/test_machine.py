"""Any mixture of crashes, approvals, rejections, cancellations, new messages and resumes.

A store that fails at an arbitrary save stands for a process that dies there: what was in memory is
thrown away and the run goes on from the file. After each step the five invariants hold.
"""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from fakeprovider_harness import (
    Cancel,
    ListTrace,
    MaxTurns,
    Price,
    RunState,
    Settings,
    Status,
    Store,
    Tool,
    ToolContext,
    ToolError,
    approve,
    reject,
    run,
    say,
    settle,
    tool,
)
from fakeprovider_harness.models.base import Message, ModelReply
from fakeprovider_harness.models.scripted import USAGE, calls, problems, says
from fakeprovider_harness.trace import RunStopped, ToolEnd

PRICE = Price("1", "10")
TOOLS = ["read", "write", "write", "once", "gated", "gated", "boom", "stop", "raed"]


MEMORY = Path("/dev/shm")  # many small databases: a real disk would do nothing but sync
# One number decides a step: drawn one by one, Hypothesis makes its examples too much alike.
FATES = st.integers(0, 2**64)


class Died(Exception):
    """The process is gone."""


class Mortal(Store):
    """Fails at the save that `countdown` reaches, before or after it is kept."""

    countdown: int | None = None
    after = False

    def save(self, state: RunState, *, durable: bool = False) -> None:
        due = self.countdown == 0
        self.countdown = None if self.countdown is None else self.countdown - 1
        if due and not self.after:
            raise Died
        super().save(state, durable=durable)
        if due:
            raise Died


class Runs(RuleBasedStateMachine):
    """One run in one store, and all that may befall it."""

    @initialize(
        fate=FATES,
    )
    def begin(self, fate: int) -> None:
        draw = random.Random(fate)
        dedupe: Any = draw.choice(["off", "read_only"])
        script = [draw.choices(TOOLS, k=draw.randint(1, 3)) for _ in range(draw.randint(1, 4))]
        self.folder = tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None)
        self.store = Mortal(Path(self.folder.name) / "runs.db")
        self.script = script
        self.switches = Settings(dedupe=dedupe, grace=0.02)
        self.journal = 0
        self.effects: Counter[str] = Counter()
        self.keys: set[str] = set()
        self.state = RunState.start("task", run_id="r")
        self.cancel = Cancel()
        self.store.save(self.state)

    # the model, the tools

    name = "stateless"

    async def ask(self, messages: list[Message], tools: Any, **_: Any) -> ModelReply:
        assert problems(messages) == [], "I2: a strict service refuses this"
        self.journal += 1
        turn = sum(message.role == "assistant" for message in messages)
        wanted = self.script[turn] if turn < len(self.script) else []
        if not wanted:
            return says(f"answer {turn}")
        made = [(f"c{turn}.{k}", name, {"x": f"{turn}.{k}"}) for k, name in enumerate(wanted)]
        return calls(*made)

    def tools(self) -> list[Tool]:
        def done(x: str) -> str:
            self.effects[x] += 1
            return f"did {x}"

        @tool(read_only=True)
        def read(x: str) -> str:
            return "v"

        @tool
        def write(x: str) -> str:
            return done(x)

        @tool(idempotent=True)
        def once(x: str, ctx: ToolContext) -> str:
            if ctx.idempotency_key in self.keys:
                return f"had done {x}"
            self.keys.add(ctx.idempotency_key)
            return done(x)

        @tool(needs_approval=True)
        def gated(x: str) -> str:
            return done(x)

        @tool
        def boom(x: str) -> str:
            raise ToolError("no")

        @tool
        def stop(x: str, ctx: ToolContext) -> str:
            self.cancel.set("user pressed Stop")
            ctx.check()
            return "not reached"

        return [read, write, once, gated, boom, stop]

    # what may befall it

    @rule(fate=FATES)
    def go_on(self, fate: int) -> None:
        draw = random.Random(fate)
        cap, countdown, after = draw.randint(2, 9), draw.randint(0, 11), draw.random() < 0.5
        self.cancel = Cancel()
        if draw.random() < 0.1:
            self.cancel.set("before the start")
        trace, legs = ListTrace(), self.state.legs
        self.store.countdown, self.store.after = countdown, after
        try:
            run(
                self.state,
                model=self,
                tools=self.tools(),
                stop=MaxTurns(cap),
                price=PRICE,
                store=self.store,
                trace=trace,
                cancel=self.cancel,
                settings=self.switches,
            )
        except Died:
            self.reopen()
        else:
            self.store.countdown = None
            self.check_trace(trace, self.state.legs - legs)

    def check_trace(self, trace: ListTrace, legs: int) -> None:
        stops = [event for event in trace.events if isinstance(event, RunStopped)]
        assert len(stops) == legs <= 1, "I5: one terminal event per leg"
        if stops:
            assert trace.events[-1] is stops[0]
            assert (stops[0].run_id, stops[0].status) == ("r", self.state.status)
            assert stops[0].reason == self.state.reason
        ends = Counter(event.call_id for event in trace.events if isinstance(event, ToolEnd))
        assert all(count == 1 for count in ends.values())

    def reopen(self) -> None:
        self.store.countdown = None
        self.state = self.store.load("r")

    @precondition(lambda self: self.state.interruptions)
    @rule(fate=FATES)
    def decide(self, fate: int) -> None:
        draw = random.Random(fate)
        wait = draw.choice(self.state.interruptions)
        yes, fails = draw.random() < 0.6, draw.random() < 0.2
        if wait.type == "unknown_outcome" and yes and self.effects[wait.args["x"]]:
            settle(self.state, wait.call_id, "I looked: it is done")
        elif yes:
            approve(self.state, wait.call_id)
        else:
            reject(self.state, wait.call_id, "not now")
        self.store.countdown = 0 if fails else None
        try:
            self.store.save(self.state)
        except Died:
            self.reopen()

    @precondition(lambda self: self.state.status is not Status.RUNNING)
    @rule()
    def new_message(self) -> None:
        self.state = RunState.from_json(self.state.to_json())
        say(self.state, "and now?")
        self.store.save(self.state)

    # what holds whatever befell it

    @invariant()
    def results_are_one_per_call_in_call_order(self) -> None:
        waiting = [call.call.id for call in self.state.pending]
        expected = [f"the last calls have no result: {', '.join(waiting)}"] if waiting else []
        assert problems(self.state.messages) == expected, "I1"

    @invariant()
    def effects_are_those_the_transcript_tells_of(self) -> None:
        assert all(count == 1 for count in self.effects.values()), "I3: an effect happened twice"
        told = {call.id: call for message in self.state.messages for call in message.calls}
        for message in self.state.messages:
            if message.role != "tool" or message.name not in ("write", "once", "gated"):
                continue
            x = told[message.call_id or ""].arguments.split('"')[3]
            if message.outcome == "ok":
                assert self.effects[x] == 1, f"I3: {x} is told of and was not done"
            elif message.outcome != "unknown":
                assert self.effects[x] == 0, f"I3: {x} was done and is told as {message.outcome}"

    @invariant()
    def every_request_is_charged(self) -> None:
        state = self.state
        settled = self.journal - (state.request is not None)  # in flight: charged on going on
        spent = settled * PRICE.cost(USAGE)
        assert state.cost_usd >= spent, "I4: less was charged than was spent"
        lost = sum((request.cost_usd or Decimal(0) for request in state.lost), Decimal(0))
        assert state.cost_usd == len(state.turns) * PRICE.cost(USAGE) + lost, "I4"
        assert state.estimated is bool(state.lost)

    @invariant()
    def the_status_is_that_of_the_stop(self) -> None:
        stop = self.state.stop
        assert (stop is None) == (self.state.status is Status.RUNNING)
        assert stop is None or stop.status is self.state.status
        assert self.state.status is not Status.FAILED

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()


def walk(seed: int, steps: int = 12) -> None:
    """Drive the machine by one random number: where Hypothesis looks deep, this looks wide."""
    draw, machine = random.Random(seed), Runs()
    machine.begin(draw.getrandbits(64))
    try:
        for _ in range(steps):
            step(machine, draw)
            machine.results_are_one_per_call_in_call_order()
            machine.effects_are_those_the_transcript_tells_of()
            machine.every_request_is_charged()
            machine.the_status_is_that_of_the_stop()
    except AssertionError as error:
        error.add_note(f"seed {seed}, script {machine.script}")
        raise
    finally:
        machine.teardown()


def step(machine: Runs, draw: random.Random) -> None:
    if machine.state.interruptions and draw.random() < 0.7:
        machine.decide(draw.getrandbits(64))
    elif machine.state.status is not Status.RUNNING and draw.random() < 0.15:
        machine.new_message()
    else:
        machine.go_on(draw.getrandbits(64))


def test_no_mixture_of_crashes_decisions_and_resumes_breaks_an_invariant() -> None:
    run_state_machine_as_test(
        Runs, settings=settings(max_examples=40, stateful_step_count=12, deadline=None)
    )


def test_nor_do_many_random_walks() -> None:
    for seed in range(150):
        walk(seed)
