"""A tree of agents in trouble: faults, parallel reads, sub-agents, one reserved budget, crashes.

A provider keeps the books: what each request really cost, whether its answer arrived or not. After
each step the invariants hold for the whole tree; the budget holds at every moment.
"""

from __future__ import annotations

import asyncio
import dataclasses
import random
import tempfile
from collections import Counter
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
from msgspec.structs import replace

from fakeprovider_harness import (
    Cancel,
    FakeClock,
    ListTrace,
    MaxTokens,
    MaxTurns,
    Price,
    RetryPolicy,
    RunState,
    Settings,
    Status,
    Store,
    Tool,
    approve,
    reject,
    run,
    subagent,
    tool,
)
from fakeprovider_harness.models.base import Message, ModelError, ModelReply, ToolSpec, Usage
from fakeprovider_harness.models.scripted import calls, problems, says
from fakeprovider_harness.trace import RunStopped, TurnEvent

PRICE = Price("1", "10")
PARENT = ["read", "read", "write", "gated", "delegate", "delegate", "delegate"]
CHILD = ["read", "read", "write"]
MEMORY = Path("/dev/shm")
FATES = st.integers(0, 2**64)
OUTPUT = 400  # tokens that a reply may have


class Died(Exception):
    """The process is gone."""


class Mortal(Store):
    """Fails at the save that `countdown` reaches and ever after: a dead process saves nothing."""

    countdown: int | None = None

    def save(self, state: RunState, *, durable: bool = False) -> None:
        if self.countdown is not None:
            if self.countdown <= 0:
                raise Died
            self.countdown -= 1
        super().save(state, durable=durable)

    def revive(self) -> None:
        self.countdown = None


class Books:
    """A provider that misbehaves as its seed says, and keeps the books of what it charged."""

    name = "books"

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.requests = 0
        self.prompt = 0
        self.output = 0

    @property
    def total(self) -> int:
        return self.prompt + self.output

    async def ask(
        self,
        messages: list[Message],
        tools: list[ToolSpec],
        *,
        max_output: int | None = None,
        **_: Any,
    ) -> ModelReply:
        assert problems(messages) == [], "I2: a strict service refuses this"
        self.requests += 1
        draw = random.Random(f"{self.seed} {self.requests}")
        fate = draw.random()
        if fate < 0.15:
            raise ModelError("503: down", status=503, retryable=True)
        reply = self._reply(messages, tools)
        output = draw.randint(0, max_output or OUTPUT)
        if fate < 0.3:
            reply = ModelReply("x" * output)
        elif fate < 0.4:  # nothing is reported: there is no more than what is seen
            output = len(reply.text) + sum(len(call.arguments) for call in reply.calls)
            output = min(output, max_output or OUTPUT)
        prompt = sum(len(message.content or "") // 3 for message in messages)
        self.prompt += prompt
        self.output += output
        for _ in range(draw.randint(0, 3)):
            await asyncio.sleep(0)
        if fate < 0.3:
            raise ModelError("the stream broke", retryable=True, partial=reply)
        return reply if fate < 0.4 else replace(reply, usage=Usage(prompt, output))

    def _reply(self, messages: list[Message], tools: list[ToolSpec]) -> ModelReply:
        names = {spec.name for spec in tools}
        turn = sum(message.role == "assistant" for message in messages)
        task = messages[0].content or ""
        draw = random.Random(f"{self.seed} {task} {turn}")
        if turn >= draw.randint(1, 4):
            return says(f"answer {turn}", usage=None)
        wanted = draw.choices(PARENT if "delegate" in names else CHILD, k=draw.randint(1, 4))
        made = [
            (f"c{turn}.{k}", name, _arguments(name, f"{task}|{turn}.{k}"))
            for k, name in enumerate(wanted)
        ]
        return calls(*made, usage=None)

    async def aclose(self) -> None:
        return None


def _arguments(name: str, x: str) -> dict[str, str]:
    return {"question": x} if name == "delegate" else {"x": x}


class Trees(RuleBasedStateMachine):
    """One tree of runs in one store, and all that may befall it."""

    @initialize(fate=FATES)
    def begin(self, fate: int) -> None:
        draw = random.Random(fate)
        self.folder = tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None)
        self.store = Mortal(Path(self.folder.name) / "runs.db")
        self.books = Books(fate)
        self.cap = draw.choice([draw.randint(800, 8_000), 100_000])
        self.shared = draw.random() < 0.5
        self.switches = Settings(
            grace=1.0,
            max_output=OUTPUT,
            parallel=draw.choice([1, 2, 8]),
            retry=RetryPolicy(attempts=3, base=0.1),
            retries=draw.choice([1, 5, 50]),
            unknown="tell",
        )
        self.effects: Counter[str] = Counter()
        self.cancel = Cancel()
        self.died = False
        self.state = RunState.start("task", run_id="r")
        self.store.save(self.state)

    def tools(self) -> list[Tool]:
        def done(x: str) -> str:
            self.effects[x] += 1
            return f"did {x}"

        @tool(read_only=True)
        async def read(x: str) -> str:
            for _ in range(len(x) % 4):
                await asyncio.sleep(0)
            if x.endswith("2"):
                self.cancel.set("pressed") if self.pressed else None
            return f"text of {x}"

        @tool
        def write(x: str) -> str:
            return done(x)

        @tool(needs_approval=True)
        def gated(x: str) -> str:
            return done(x)

        agent = subagent(
            "delegate",
            "Ask an agent.",
            model=self.books,
            tools=[read, write],
            stop=MaxTurns(6),
            settings=Settings(grace=1.0, max_output=OUTPUT, unknown="tell"),
        )
        return [read, write, gated, dataclasses.replace(agent, runs_agent=self.shared)]

    # what may befall it

    @rule(fate=FATES)
    def go_on(self, fate: int) -> None:
        draw = random.Random(fate)
        self.cancel = Cancel()
        self.pressed = draw.random() < 0.1
        if draw.random() < 0.1:
            self.cancel.set("before the start")
        self.store.countdown = draw.randint(0, 40) if draw.random() < 0.5 else None
        trace, legs = ListTrace(), self.state.legs
        try:
            run(
                self.state,
                model=self.books,
                tools=self.tools(),
                stop=MaxTokens(self.cap, reserve=True, least=1) | MaxTurns(draw.randint(1, 9)),
                price=PRICE,
                store=self.store,
                trace=trace,
                cancel=self.cancel,
                settings=self.switches,
                clock=FakeClock(),
            )
        except Died:
            self.died = True
            self.store.revive()
            self.state = self.store.load("r")
        else:
            self.store.revive()
            self.died = self.died and self.state.legs == legs
            self.check_trace(trace, self.state.legs - legs)

    def check_trace(self, trace: ListTrace, legs: int) -> None:
        stops = Counter(e.run_id for e in trace.events if isinstance(e, RunStopped))
        assert stops["r"] == legs <= 1, "I5: one terminal event per leg"
        assert all(count == 1 for count in stops.values()), "I5: also of each sub-agent"
        started = {e.run_id for e in trace.events if isinstance(e, TurnEvent)}
        assert started <= set(stops), "I5: none without its end"

    @precondition(lambda self: self.state.interruptions)
    @rule(fate=FATES)
    def decide(self, fate: int) -> None:
        draw = random.Random(fate)
        wait = draw.choice(self.state.interruptions)
        (approve if draw.random() < 0.6 else reject)(self.state, wait.call_id)
        self.store.save(self.state)

    # what holds whatever befell it

    @invariant()
    def nothing_was_spent_beyond_the_cap(self) -> None:
        assert self.books.total <= self.cap, "the provider charged more than the cap"
        assert self.state.total_tokens <= self.cap

    @invariant()
    def every_request_of_the_tree_is_charged(self) -> None:
        if not self.died:  # what a dead process had not saved is charged when it goes on
            assert self.state.input_tokens >= self.books.prompt, "I4: prompts"
            assert self.state.output_tokens >= self.books.output, "I4: replies"
        charged = Usage(self.state.input_tokens, self.state.output_tokens)
        assert self.state.cost_usd == PRICE.cost(charged), "I4: money follows tokens"

    @invariant()
    def results_are_one_per_call_in_call_order(self) -> None:
        waiting = [call.call.id for call in self.state.pending]
        expected = [f"the last calls have no result: {', '.join(waiting)}"] if waiting else []
        assert problems(self.state.messages) == expected, "I1"

    @invariant()
    def effects_happen_once_and_are_told_of(self) -> None:
        assert all(count == 1 for count in self.effects.values()), "I3: an effect happened twice"
        told = {call.id: call for message in self.state.messages for call in message.calls}
        for message in self.state.messages:
            if message.role == "tool" and message.name in ("write", "gated"):
                x = told[message.call_id or ""].arguments.split('"')[3]
                known = {"ok": 1}.get(message.outcome or "", 0)
                assert message.outcome == "unknown" or self.effects[x] == known, "I3"

    @invariant()
    def the_status_is_that_of_the_stop(self) -> None:
        stop = self.state.stop
        assert (stop is None) == (self.state.status is Status.RUNNING)
        assert stop is None or stop.status is self.state.status

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()


def walk(seed: int, steps: int = 8) -> None:
    """Drive the machine by one random number: where Hypothesis looks deep, this looks wide."""
    draw, machine = random.Random(seed), Trees()
    machine.begin(draw.getrandbits(64))
    checks = [getattr(machine, name) for name in dir(Trees) if name in INVARIANTS]
    try:
        for _ in range(steps):
            if machine.state.interruptions and draw.random() < 0.7:
                machine.decide(draw.getrandbits(64))
            else:
                machine.go_on(draw.getrandbits(64))
            for check in checks:
                check()
    except AssertionError as error:
        error.add_note(f"seed {seed}")
        raise
    finally:
        machine.teardown()


INVARIANTS = {
    "nothing_was_spent_beyond_the_cap",
    "every_request_of_the_tree_is_charged",
    "results_are_one_per_call_in_call_order",
    "effects_happen_once_and_are_told_of",
    "the_status_is_that_of_the_stop",
}


def test_no_mixture_of_faults_crashes_and_sub_agents_breaks_an_invariant() -> None:
    run_state_machine_as_test(
        Trees, settings=settings(max_examples=30, stateful_step_count=8, deadline=None)
    )


def test_nor_do_many_random_walks() -> None:
    for seed in range(80):
        walk(seed)
