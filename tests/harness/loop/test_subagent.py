"""A sub-agent as a tool: what comes back, what it costs, what its limits do to the parent."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from effects_ledger import Ledger

from fakeprovider_harness import (
    Condition,
    ListTrace,
    MaxCost,
    MaxTurns,
    Price,
    PriceTable,
    RunState,
    Settings,
    Status,
    Store,
    Tool,
    UnknownPrice,
    run,
    subagent,
)
from fakeprovider_harness.models.base import ModelError, Usage
from fakeprovider_harness.models.scripted import ScriptedModel, calls, says
from fakeprovider_harness.trace import RunStopped, TurnEvent

CHEAP = Usage(500, 50)


def research(model: ScriptedModel, ledger: Ledger, **given: Any) -> Tool:
    stop = given.pop("stop", MaxTurns(6) | MaxCost("0.05"))
    return subagent(
        "research",
        "Answer a question.",
        model=model,
        tools=[ledger.read],
        stop=stop,
        system="You only read.",
        **given,
    )


def parent() -> ScriptedModel:
    return ScriptedModel([calls(("a", "research", {"question": "why?"})), says("done")])


def go(ledger: Ledger, child: ScriptedModel, price: Price, **given: Any) -> tuple[RunState, Any]:
    model = parent()
    state = run(
        RunState.start("task", run_id="r"),
        model=model,
        tools=[research(child, ledger, **given.pop("agent", {}))],
        stop=MaxTurns(5) | MaxCost("1"),
        price=price,
        **given,
    )
    return state, model


def test_only_the_final_text_comes_back_and_the_cost_is_in_the_parents_total(
    ledger: Ledger, price: Price
) -> None:
    child = ScriptedModel([calls(("x", "read", {}), usage=CHEAP), says("because", usage=CHEAP)])
    trace = ListTrace()
    state, model = go(ledger, child, price, trace=trace)
    assert model.requests[1][-1].content == "because"
    assert [m.role for m in child.requests[0]] == ["system", "user"]
    assert child.requests[0][1].content == "why?"
    assert (state.status, len(state.turns), state.tool_runs) == (Status.COMPLETED, 2, 1)
    assert state.input_tokens == 2 * 1000 + 2 * 500
    spent = sum((price.cost(usage) for usage in [*model.charged, *child.charged]), Decimal(0))
    assert state.cost_usd == spent
    ids = [event.run_id for event in trace.events if isinstance(event, TurnEvent)]
    assert ids == ["r", "r/1.0", "r/1.0", "r"]


def test_the_limit_of_a_sub_agent_is_a_result_in_words_and_not_a_stop(
    ledger: Ledger, price: Price
) -> None:
    child = ScriptedModel(lambda n, _: calls((f"x{n}", "read", {}), usage=CHEAP))
    state, model = go(ledger, child, price, settings=Settings(errors="fatal"))
    assert len(child.requests) == 6
    result = model.requests[1][-1]
    assert (result.content, result.outcome) == ("no result (max_turns (6 of 6))", "error")
    assert state.status is Status.COMPLETED


def test_a_sub_agent_that_fails_or_says_nothing_gives_no_result(
    ledger: Ledger, price: Price
) -> None:
    _, model = go(ledger, ScriptedModel([ModelError("401: no", status=401)]), price)
    assert model.requests[1][-1].content == "no result (provider_error: 401: no)"
    _, model = go(ledger, ScriptedModel([says("")], forever=True), price)
    assert model.requests[1][-1].content == "no result (empty_replies (2 of 2))"


def test_what_the_sub_agent_spends_counts_against_the_parents_budget(
    ledger: Ledger, price: Price
) -> None:
    child = ScriptedModel([calls(("x", "read", {})), says("because")])
    model = parent()
    state = run(
        RunState.start("task", run_id="r"),
        model=model,
        tools=[research(child, ledger)],
        stop=MaxCost("0.005"),
        price=price,
    )
    assert (state.reason, len(model.requests)) == ("max_cost", 1)
    assert state.cost_usd == 3 * price.cost(Usage(1000, 100))


def test_a_resumed_parent_goes_on_with_the_sub_agent_where_it_was(
    ledger: Ledger, price: Price, tmp_path: Path
) -> None:
    class Mortal(Store):
        """A store of a process that may be dead."""

        dead = False

        def save(self, state: RunState, *, durable: bool = False) -> None:
            if self.dead:
                raise OSError("dead")
            super().save(state, durable=durable)

    def die(turn: int, _: Any) -> Any:
        store.dead = turn == 1
        return calls((f"x{turn}", "read", {}), usage=CHEAP)

    child, model = ScriptedModel(die), parent()
    tools = [research(child, ledger)]
    stop = MaxTurns(5)
    with Mortal(tmp_path / "runs.db") as store:
        with pytest.raises(OSError, match="dead"):
            run(
                RunState.start("t", run_id="r"),
                model=model,
                tools=tools,
                stop=stop,
                store=store,
                price=price,
            )
        store.dead = False
        child = ScriptedModel(lambda n, _: says("found", usage=CHEAP))
        tools = [research(child, ledger)]
        state = store.load("r")
        state = run(state, model=model, tools=tools, stop=stop, store=store, price=price)
        assert (state.status, len(child.requests)) == (Status.COMPLETED, 1)
        assert [m.role for m in child.requests[0]] == ["system", "user", "assistant", "tool"]
        agent = store.load("r/1.0")
    assert agent.parent == "r"
    assert [lost.why for lost in agent.lost] == ["in flight when the process ended"]
    assert state.input_tokens == 2 * 1000 + agent.input_tokens
    assert state.estimated


def test_each_agent_has_one_terminal_event_of_its_own(ledger: Ledger, price: Price) -> None:
    trace = ListTrace()
    go(ledger, ScriptedModel([says("because")]), price, trace=trace)
    ends = [(e.run_id, e.reason) for e in trace.events if isinstance(e, RunStopped)]
    assert ends == [("r/1.0", "answered"), ("r", "answered")]


def test_a_budget_of_an_agent_without_a_price_refuses_the_run_before_anything_is_sent(
    ledger: Ledger, price: Price
) -> None:
    """Its own budget or one above it, at any depth; a price of its own is enough."""
    unpriced = PriceTable({"other": price})
    cases: list[tuple[Tool, Condition, Any]] = [
        (research(ScriptedModel([]), ledger), MaxTurns(5), None),
        (nested(research(ScriptedModel([]), ledger)), MaxTurns(5), None),
        (research(ScriptedModel([]), ledger, price=unpriced), MaxTurns(5), price),
        (
            research(ScriptedModel([]), ledger, stop=MaxTurns(2), price=unpriced),
            MaxCost("1"),
            price,
        ),
    ]
    for agent, stop, pricing in cases:
        model = parent()
        with pytest.raises(UnknownPrice, match=r"price (of|for model) 'scripted'"):
            run(RunState.start("task"), model=model, tools=[agent], stop=stop, price=pricing)
        assert model.requests == []


def test_a_price_of_its_own_is_enough_for_an_agent_with_a_budget(
    ledger: Ledger, price: Price
) -> None:
    agent = research(ScriptedModel([says("because")]), ledger, price=price)
    state = run(RunState.start("task"), model=parent(), tools=[agent], stop=MaxTurns(5))
    assert (state.status, state.messages[-2].content) == (Status.COMPLETED, "because")


def nested(agent: Tool) -> Tool:
    """An agent without a budget over another one."""
    model = ScriptedModel([])
    return subagent("outer", "Ask.", model=model, tools=[agent], stop=MaxTurns(2))


def test_an_agent_is_refused_where_it_is_made_if_it_could_not_be_run() -> None:
    model, text, number = ScriptedModel([]), "2", 3
    with pytest.raises(TypeError, match="a PriceTable, or None; not '2'"):
        subagent("a", "Ask.", model=model, tools=[], stop=MaxTurns(2), price=text)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="3 is no tool"):
        subagent("a", "Ask.", model=model, tools=[number], stop=MaxTurns(2))  # type: ignore[list-item]
