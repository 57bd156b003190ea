"""Public reports about sub-agents: what a whole tree may spend, and how far it may grow."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from effects_ledger import Ledger

from fakeprovider_harness import (
    ListTrace,
    MaxCost,
    MaxTokens,
    MaxTurns,
    Price,
    RunState,
    Settings,
    Status,
    Store,
    Tool,
    run,
    subagent,
)
from fakeprovider_harness.models.base import ModelReply
from fakeprovider_harness.models.scripted import ScriptedModel, calls, problems, says
from fakeprovider_harness.trace import RunStopped, TurnEvent

QUESTION = {"question": "?"}


def start() -> RunState:
    return RunState.start("task", run_id="r")


def spawn(n: int, times: int = 1) -> ModelReply:
    return calls(*[(f"s{n}.{k}", "delegate", QUESTION) for k in range(times)])


MANY = MaxTurns(99)


def agent(model: Any, tools: list[Tool], stop: Any = MANY, **switches: Any) -> Tool:
    switches.setdefault("max_depth", 9)
    return subagent(
        "delegate", "Ask.", model=model, tools=tools, stop=stop, settings=Settings(**switches)
    )


def turn_of(messages: Any) -> int:
    return sum(message.role == "assistant" for message in messages)


def results(state: RunState) -> list[tuple[str | None, str | None]]:
    return [(m.outcome, m.content) for m in state.messages if m.role == "tool"]


def test_ten_requests_are_ten_in_the_whole_tree(ledger: Ledger, price: Price) -> None:
    def child_reply(n: int, messages: Any) -> ModelReply:
        turn = turn_of(messages)
        return calls((f"c{n}", "read", {"x": n})) if turn < 8 else says("found")

    child = ScriptedModel(child_reply, name="child")
    model, trace = ScriptedModel(lambda n, _: spawn(n)), ListTrace()
    state = run(
        start(),
        model=model,
        tools=[agent(child, [ledger.read])],
        stop=MaxTurns(10, scope="tree"),
        trace=trace,
        price=price,
    )
    assert (state.status, state.reason) == ("max_turns_exceeded", "max_turns")
    assert len(model.requests) + len(child.requests) == 10
    assert (len(model.requests), state.tree_turns) == (1, 10)
    spent = sum((price.cost(u) for u in [*model.charged, *child.charged]), 0 * price.input)
    assert state.cost_usd == spent
    assert sum(isinstance(event, TurnEvent) for event in trace.events) == 10
    assert results(state) == [("ok", "found")]
    assert problems(state.messages) == []


def test_a_limit_of_the_run_alone_does_not_count_its_sub_agents(ledger: Ledger) -> None:
    child = ScriptedModel(lambda n, m: calls((f"c{n}", "read", {"x": n})) if turn_of(m) < 8
                          else says("found"), name="child")  # fmt: skip
    model = ScriptedModel([spawn(0), spawn(1), says("done")])
    state = run(start(), model=model, tools=[agent(child, [ledger.read])], stop=MaxTurns(10))
    assert (state.status, len(state.turns), state.tree_turns) == (Status.COMPLETED, 3, 21)


def test_three_children_at_once_do_not_pass_the_limit_together(ledger: Ledger) -> None:
    child = ScriptedModel(lambda n, _: calls((f"c{n}", "read", {"x": n})), name="child")
    model = ScriptedModel([spawn(0, 3), says("done")])
    state = run(
        start(),
        model=model,
        tools=[agent(child, [ledger.read])],
        stop=MaxTurns(10, scope="tree"),
    )
    assert len(model.requests) + len(child.requests) == 10
    assert state.reason == "max_turns"
    assert [outcome for outcome, _ in results(state)] == ["error"] * 3


@pytest.mark.parametrize("times", [1, 3])
def test_an_agent_that_only_spawns_is_told_that_it_may_not(times: int) -> None:
    """The default is one level: what an agent starts may not start agents itself."""

    def breed(n: int, messages: Any) -> ModelReply:
        return spawn(n, times) if turn_of(messages) < 2 else says("did it myself")

    child = ScriptedModel(breed, name="child")
    tools: list[Tool] = []
    tools.append(agent(child, tools, max_depth=1))
    model = ScriptedModel([spawn(0), says("done")])
    state = run(start(), model=model, tools=tools, stop=MaxTurns(9))
    assert (state.status, len(child.requests), state.agents) == (Status.COMPLETED, 3, 1)
    refused = [m for m in child.requests[-1] if m.role == "tool"]
    assert [m.outcome for m in refused] == ["skipped"] * 2 * times
    assert all("Do the work yourself" in (m.content or "") for m in refused)


def test_a_budget_above_ends_a_runaway_below_within_one_turn(ledger: Ledger, price: Price) -> None:
    child = ScriptedModel(lambda n, _: calls((f"c{n}", "read", {"x": n})), name="child")
    model, trace = ScriptedModel([spawn(0), says("never asked")]), ListTrace()
    state = run(
        start(),
        model=model,
        tools=[agent(child, [ledger.read])],
        stop=MaxCost("0.01") | MaxTokens(10**6),
        price=price,
        trace=trace,
    )
    assert (state.status, state.reason) == ("budget_exceeded", "max_cost")
    assert (len(model.requests), len(child.requests)) == (1, 4)
    assert state.stop is not None
    assert state.stop.overshoot == 0
    ends = [(e.run_id, e.status) for e in trace.events if isinstance(e, RunStopped)]
    assert ends == [("r/1.0", "budget_exceeded"), ("r", "budget_exceeded")]


def bush(max_depth: int, max_agents: int, child_depth: int) -> tuple[RunState, ScriptedModel]:
    def every(n: int, messages: Any) -> ModelReply:
        return spawn(n, 5) if turn_of(messages) == 0 else says("ok")

    model = ScriptedModel(every)
    tools: list[Tool] = []
    tools.append(agent(model, tools, MaxTurns(9), max_depth=child_depth, max_agents=None))
    state = run(
        start(),
        model=model,
        tools=tools,
        stop=MaxTurns(9),
        settings=Settings(max_depth=max_depth, max_agents=max_agents),
    )
    return state, model


def test_a_tree_has_at_most_eight_agents_and_two_levels() -> None:
    state, model = bush(max_depth=2, max_agents=8, child_depth=8)
    assert (state.status, state.agents) == (Status.COMPLETED, 8)
    starts = sum(turn_of(request) == 0 for request in model.requests)
    assert starts == 1 + 8
    assert all(problems(request) == [] for request in model.requests)


def test_a_child_cannot_widen_what_it_inherits_and_can_narrow_it() -> None:
    wide, _ = bush(max_depth=1, max_agents=100, child_depth=8)
    assert wide.agents == 5
    narrow, _ = bush(max_depth=8, max_agents=100, child_depth=1)
    assert narrow.agents == 5


def test_a_refused_delegation_is_an_instruction_and_the_run_completes() -> None:
    state, _ = bush(max_depth=1, max_agents=2, child_depth=1)
    told = [text for outcome, text in results(state) if outcome == "skipped"]
    assert len(told) == 3
    assert set(told) == {
        "Not started: all 2 agents allowed have been started. Do the work yourself."
    }
    none, _ = bush(max_depth=0, max_agents=9, child_depth=9)
    assert (none.status, none.agents) == (Status.COMPLETED, 0)


def test_an_agent_that_goes_on_after_a_crash_is_not_counted_again(
    ledger: Ledger, tmp_path: Path
) -> None:
    def child_reply(n: int, messages: Any) -> ModelReply:
        if n == 1:  # what is on disk now is what a kill would leave
            paths = (tmp_path / "runs.db", tmp_path / "left.db")
            with (
                closing(sqlite3.connect(paths[0])) as now,
                closing(sqlite3.connect(paths[1])) as left,
            ):
                now.backup(left)
        return calls((f"c{n}", "read", {"x": n})) if turn_of(messages) < 2 else says("found")

    child = ScriptedModel(child_reply, name="child")
    model = ScriptedModel(lambda n, m: spawn(n) if turn_of(m) == 0 else says("done"))
    tools = [agent(child, [ledger.read])]
    with Store(tmp_path / "runs.db") as store:
        whole = run(start(), model=model, tools=tools, stop=MaxTurns(9), store=store)
    with Store(tmp_path / "left.db") as store:
        state = store.load("r")
        assert (state.agents, store.load("r/1.0").request is not None) == (1, True)
        run(state, model=model, tools=tools, stop=MaxTurns(9), store=store)
    assert (state.status, state.agents, results(state)) == (Status.COMPLETED, 1, results(whole))
    assert len(child.requests) == 3 + 2
    assert state.tree_turns == whole.tree_turns
    assert state.input_tokens > whole.input_tokens
