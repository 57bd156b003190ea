"""Budgets against services that do what they like, over any schedule, and shared evenly."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from effects_ledger import Ledger
from hypothesis import given, settings
from hypothesis import strategies as st

from fakeprovider_harness import (
    Condition,
    ListTrace,
    MaxCost,
    MaxTokens,
    MaxTurns,
    Price,
    PriceTable,
    RunState,
    Settings,
    Status,
    Stop,
    Tool,
    UnknownPrice,
    arun,
    run,
    subagent,
)
from fakeprovider_harness.budget.budget_tree import Account, Branch, Grant
from fakeprovider_harness.budget.charging import Price as Rate
from fakeprovider_harness.models.base import Message, ModelError, ModelReply, ToolSpec, Usage
from fakeprovider_harness.models.scripted import ScriptedModel, calls, says
from fakeprovider_harness.trace import Note, RunStopped

LARGE = Settings(max_output=30_000)


def start() -> RunState:
    return RunState.start("task", run_id="r")


FIVE = MaxTurns(5)


def _agent(model: Any, stop: Condition = FIVE, **given: Any) -> Tool:
    given = {"tools": [], "settings": LARGE, **given}
    return subagent("research", "Ask an agent.", model=model, stop=stop, **given)


def _account(
    condition: Condition,
    *,
    state: RunState | None = None,
    branch: Branch | None = None,
    **switches: Any,
) -> Account:
    state = state or RunState("r")
    return Account(state, condition, Settings(**switches), lambda: None, branch)


# A service that does what it likes


def test_a_service_that_ignores_the_output_limit_is_flagged(ledger: Ledger) -> None:
    trace = ListTrace()
    model = ScriptedModel(lambda n, _: calls((f"c{n}", "read", {}), usage=Usage(100, 9_000)))
    state = run(
        start(),
        model=model,
        tools=[ledger.read],
        stop=MaxTokens(8_000, reserve=True),
        settings=Settings(max_output=500),
        trace=trace,
    )
    assert state.stop is not None
    assert (state.reason, state.stop.overshoot) == ("max_tokens", 1_100)
    assert state.stop.evidence["error"] == "the service used 8500 tokens more than requests allowed"
    assert (state.turns[0].overrun, state.overrun) == (8_500, 8_500)
    said = [event.text for event in trace.events if isinstance(event, Note)]
    assert said == ["the service used 8500 tokens more than the request allowed"]


def test_a_reply_without_usage_is_charged_at_most_what_it_was_allowed() -> None:
    model = ScriptedModel([says("x" * 9_000, usage=None)])
    stop = MaxTokens(9_000, reserve=True)
    state = run(start(), model=model, stop=stop, settings=Settings(max_output=100))
    assert state.output_tokens == 100
    assert state.estimated


# Any schedule


class Watched:
    """A model whose replies use what they are told to, within their limit; it looks on."""

    name = "watched"

    def __init__(self, root: RunState, cap: int, plan: Sequence[tuple[int, int]]) -> None:
        self.root, self.cap, self.plan = root, cap, plan
        self.held = 0
        self.most = 0

    async def ask(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, max_output: Any = None,
        **_: Any,
    ) -> ModelReply:  # fmt: skip
        pause, share = self.plan[len(messages) % len(self.plan)]
        bound = sum(len(str(message.content)) for message in messages)
        self.held += bound + max_output
        self.most = max(self.most, self.root.total_tokens + self.held)
        for _ in range(pause):
            await asyncio.sleep(0)
        self.held -= bound + max_output
        used = Usage(bound, max_output * share // 4)
        if share == 0:
            raise ModelError("500", status=500, retryable=True, partial=ModelReply())
        return self.reply(messages, tools, used)

    def reply(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], used: Usage
    ) -> ModelReply:
        turn = sum(message.role == "assistant" for message in messages)
        if tools and turn < 2:
            wanted = [(f"t{turn}.{n}", "research", {"question": f"{n}"}) for n in range(4)]
            return calls(*wanted, usage=used)
        return says("done", usage=used)

    async def aclose(self) -> None:
        return None


@settings(max_examples=60, deadline=None)
@given(
    cap=st.integers(200, 30_000),
    plan=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=5),
    parallel=st.integers(1, 8),
    shared=st.booleans(),
)
def test_spent_and_held_are_never_above_the_cap_under_any_schedule(
    cap: int, plan: list[tuple[int, int]], parallel: int, shared: bool
) -> None:
    """With even shares, and where siblings take what they find."""
    state = start()
    model = Watched(state, cap, plan)
    research = replace(_agent(model, settings=Settings(max_output=700)), runs_agent=shared)
    stop = MaxTokens(cap, reserve=True)
    trace = ListTrace()

    async def go() -> None:
        await arun(
            state,
            model=model,
            tools=[research],
            stop=stop,
            trace=trace,
            settings=Settings(max_output=900, parallel=parallel),
        )

    asyncio.run(go())
    assert state.status is not Status.RUNNING
    assert model.held == 0
    assert model.most <= cap
    assert state.total_tokens <= cap
    ends = [event.run_id for event in trace.events if isinstance(event, RunStopped)]
    assert len(ends) == len(set(ends))


# Even shares


def test_agents_that_start_together_get_an_even_share_each() -> None:
    parent = _account(MaxTokens(1_000, reserve=True) | MaxCost("1", reserve=True))
    tokens, money = parent.shares(3)
    assert (tokens.amount, money.amount) == (333, Decimal("0.333333333333"))
    assert parent.shares(1) == ()
    child = _account(
        MaxTurns(9), state=RunState("c"), branch=Branch(parent, (tokens,), lambda state: None)
    )
    grant = child.admit(100, 4_000, 4096, Price("1", "10"))
    assert isinstance(grant, Grant)
    assert grant.max_output == 233
    refused = child.admit(1, 64, 4096, Price("1", "10"))
    assert isinstance(refused, Stop)
    assert (refused.limit, refused.evidence["run"]) == (333, "c")


def test_the_first_of_a_batch_does_not_eat_the_others_share(ledger: Ledger) -> None:
    greedy = ScriptedModel(
        lambda n, _: calls((f"x{n}", "read", {"x": n}), usage=Usage(100, 400)), name="greedy"
    )
    tasks = [(f"t{n}", "research", {"question": "?"}) for n in range(3)]
    model = ScriptedModel([calls(*tasks, usage=Usage(300, 100)), says("done", usage=Usage(9, 9))])
    trace = ListTrace()
    research = _agent(greedy, MaxTurns(99), tools=[ledger.read], settings=Settings(max_output=400))
    state = run(
        start(),
        model=model,
        tools=[research],
        stop=MaxTokens(20_000, reserve=True, least=1),
        trace=trace,
        settings=Settings(max_output=200),
    )
    turns = {event.run_id: event.turns for event in trace.events if isinstance(event, RunStopped)}
    children = [count for run_id, count in turns.items() if run_id != "r"]
    assert len(children) == 3
    assert min(children) >= max(children) - 1 > 1
    assert state.total_tokens <= 20_000


def test_under_a_budget_an_unknown_price_refuses_and_names_what_is_there() -> None:
    model = ScriptedModel([says("x")], name="fake-4.1")
    table = PriceTable({"fake-4-1": Price("1", "1")})
    with pytest.raises(UnknownPrice, match=r"'fake-4.1' \(the table has fake-4-1\)"):
        run(start(), model=model, stop=MaxCost("0.02"), price=table)
    assert model.requests == []
    fallback = PriceTable({}, fallback=Price("1", "10"))
    assert run(start(), model=model, stop=MaxCost("0.02"), price=fallback).cost_usd == Decimal(
        "0.002"
    )


def test_a_cap_of_zero_blocks_the_first_call_and_none_is_no_cap() -> None:
    model = ScriptedModel([says("x")])
    state = run(start(), model=model, stop=MaxCost(0), price=Price("1", "1"))
    assert (state.reason, model.requests) == ("max_cost", [])
    state = run(start(), model=model, stop=MaxCost(None))
    assert (state.status, state.unpriced) == (Status.COMPLETED, 1)


def test_the_model_that_answered_is_charged_and_a_mismatch_is_told() -> None:
    trace = ListTrace()
    table = PriceTable({"scripted": Price("1", "1"), "bigger": Price("10", "10")})
    reply = ModelReply("x", finish="stop", usage=Usage(100_000, 0), model="bigger")
    state = run(start(), model=ScriptedModel([reply]), stop=MaxCost("5"), price=table, trace=trace)
    assert state.cost_usd == 1
    notes = [event.text for event in trace.events if isinstance(event, Note)]
    assert notes == ["asked for scripted, answered by bigger: its price counts"]


def test_a_price_is_known_whole_or_not_at_all() -> None:
    with pytest.raises(TypeError):
        Rate("1")  # type: ignore[call-arg]
