"""The loop: its order, its two gates, what is charged, and that it always ends with one reason."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
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
    MaxToolCalls,
    MaxTurns,
    Price,
    PriceTable,
    RunState,
    Settings,
    Status,
    Tool,
    UnknownPrice,
    arun,
    run,
    say,
    tool,
)
from fakeprovider_harness.models.base import Attempt, ModelError, ModelReply, Usage
from fakeprovider_harness.models.scripted import USAGE, ScriptedModel, calls, says
from fakeprovider_harness.trace import RequestLost, TurnEvent


def runaway() -> ScriptedModel:
    return ScriptedModel(lambda n, _: calls((f"c{n}", "read", {"x": n})))


def start(**given: Any) -> RunState:
    return RunState.start("task", system="be brief", run_id="r", **given)


def test_a_run_without_calls_is_answered_in_one_turn(ledger: Ledger, price: Price) -> None:
    state = run(start(), model=ScriptedModel([says("hi")]), stop=MaxTurns(5), price=price)
    assert (state.status, state.answer, state.reason) == (Status.COMPLETED, "hi", "answered")
    assert [m.role for m in state.messages] == ["system", "user", "assistant"]
    assert (state.input_tokens, state.output_tokens) == (1000, 100)
    assert state.cost_usd == Decimal("0.002")


@pytest.mark.parametrize("cap", [0, 1, 2, 8])
def test_a_turn_cap_leaves_the_calls_of_the_last_turn_pending(
    ledger: Ledger, price: Price, check: Callable[..., None], cap: int
) -> None:
    model, trace = runaway(), ListTrace()
    state = run(
        start(), model=model, tools=[ledger.read], stop=MaxTurns(cap), trace=trace, price=price
    )
    check(state, model, trace)
    assert len(state.turns) == len(model.requests) == cap
    assert state.tool_runs == max(0, cap - 1)
    assert len(state.pending) == min(1, cap)
    assert (state.status, state.stop and state.stop.overshoot) == ("max_turns_exceeded", 0)


@pytest.mark.parametrize(
    ("budget", "turns"), [("0", 0), ("0.002", 1), ("0.003", 2), ("0.02", 10), ("0.021", 11)]
)
def test_a_budget_is_overshot_by_at_most_one_turn(
    ledger: Ledger, price: Price, budget: str, turns: int
) -> None:
    state = run(start(), model=runaway(), tools=[ledger.read], stop=MaxCost(budget), price=price)
    assert len(state.turns) == turns
    assert state.stop is not None
    assert state.stop.overshoot == state.cost_usd - Decimal(budget)
    assert 0 <= state.stop.overshoot < Decimal("0.002")


def test_done_on_the_last_permitted_turn_is_completed(ledger: Ledger, price: Price) -> None:
    model = ScriptedModel([calls(("a", "read", {})), says("done")])
    stop = MaxTurns(2) | MaxCost("0.004") | MaxTokens(2200)
    state = run(start(), model=model, tools=[ledger.read], stop=stop, price=price)
    assert (state.status, state.answer) == (Status.COMPLETED, "done")
    assert state.stop is not None
    assert [s.kind for s in state.stop.also] == ["max_turns", "max_cost", "max_tokens"]


def test_a_budget_without_a_price_refuses_to_start() -> None:
    model = runaway()
    with pytest.raises(UnknownPrice, match="needs the price of 'scripted'"):
        run(start(), model=model, stop=MaxTurns(3) & (MaxCost("1") | MaxTokens(5)))
    with pytest.raises(UnknownPrice, match="no price for model 'scripted'"):
        run(start(), model=model, stop=MaxCost("1"), price=PriceTable({"other": Price("1", "2")}))
    assert model.requests == []


def test_without_a_budget_a_missing_price_is_reported_as_unknown_and_not_as_zero() -> None:
    trace = ListTrace()
    state = run(start(), model=ScriptedModel([says("x")]), stop=None, trace=trace)
    assert (state.unpriced, state.turns[0].cost_usd) == (1, None)
    turn = next(event for event in trace.events if isinstance(event, TurnEvent))
    assert turn.cost_usd is None


def test_a_price_table_charges_the_model_that_answered() -> None:
    table = PriceTable({"scripted": Price("1", "1"), "bigger": Price("10", "10")})
    reply = ModelReply("x", finish="stop", usage=Usage(100_000, 0), model="bigger")
    state = run(start(), model=ScriptedModel([reply]), stop=MaxCost("5"), price=table)
    assert state.cost_usd == 1


def test_unknown_usage_is_estimated_upwards_and_flagged(ledger: Ledger, price: Price) -> None:
    words = "é" * 50
    model = ScriptedModel([calls(("a", "read", {"x": 1}), usage=None), says(words, usage=None)])
    state = run(start(), model=model, tools=[ledger.read], stop=MaxTurns(3), price=price)
    assert state.estimated
    first, second = (turn.usage for turn in state.turns)
    assert first.estimated
    assert first.prompt_tokens > len("taskbe brief")
    assert second.prompt_tokens > first.prompt_tokens + first.completion_tokens
    assert second.completion_tokens >= len(words.encode())


def test_a_budget_holds_though_no_usage_is_ever_reported(ledger: Ledger) -> None:
    model = ScriptedModel([calls(("a", "read", {}), usage=None)], forever=True)
    state = run(start(), model=model, tools=[ledger.read], stop=MaxTokens(20_000))
    assert state.status == "budget_exceeded"


def test_required_usage_that_is_missing_ends_the_run_after_the_first_reply(ledger: Ledger) -> None:
    model = ScriptedModel([calls(("a", "read", {}), usage=None)], forever=True)
    state = run(
        start(), model=model, tools=[ledger.read], stop=None, settings=Settings(usage="require")
    )
    assert (state.status, state.reason, len(model.requests)) == (
        "budget_exceeded",
        "usage_unknown",
        1,
    )


def test_a_finished_run_is_returned_as_it_is_and_asks_for_nothing() -> None:
    model, trace = ScriptedModel([says("done")]), ListTrace()
    state = run(start(), model=model, stop=None)
    again = run(state, model=model, stop=None, trace=trace)
    assert again is state
    assert (len(model.requests), trace.events) == (1, [])


@pytest.mark.parametrize("finish", ["stop", "tool_calls", "end_turn", None, "anything"])
def test_calls_decide_whatever_the_finish_reason_says(ledger: Ledger, finish: str | None) -> None:
    from msgspec.structs import replace

    model = ScriptedModel(
        [replace(calls(("a", "read", {})), finish=finish), replace(says("done"), finish=finish)]
    )
    state = run(start(), model=model, tools=[ledger.read], stop=MaxTurns(5))
    assert (state.status, state.tool_runs, state.answer) == (Status.COMPLETED, 1, "done")


@pytest.mark.parametrize(
    ("finish", "status", "kind"),
    [
        ("refusal", "failed", "provider_error"),
        ("content_filter", "failed", "provider_error"),
        ("context_window", "context_exceeded", "context_window"),
    ],
)
def test_a_reply_that_was_refused_or_overflowed_is_never_an_answer(
    finish: str, status: str, kind: str
) -> None:
    state = run(start(), model=ScriptedModel([says("half", finish=finish)]), stop=None)
    assert (state.status, state.stop and state.stop.kind, state.answer) == (status, kind, "")


def test_a_cut_reply_is_continued_and_three_in_a_row_end_the_run() -> None:
    once = ScriptedModel([says("one", finish="length"), says("two")])
    assert run(start(), model=once, stop=None).answer == "onetwo"
    model = ScriptedModel([says("cut", finish="length")], forever=True)
    state = run(start(), model=model, stop=None)
    assert (state.status, state.reason) == ("no_progress", "truncated_replies")
    assert len(model.requests) == 3


def test_the_calls_of_a_cut_reply_are_not_run_unless_they_only_read(ledger: Ledger) -> None:
    from msgspec.structs import replace

    cut = replace(
        calls(("a", "write", {"x": 1}), ("b", "read", {"x": 1}), ("c", "read", '{"x')),
        finish="length",
    )
    model = ScriptedModel([cut, says("ok")])
    state = run(start(), model=model, tools=[ledger.read, ledger.write()], stop=None)
    assert [m.outcome for m in state.messages if m.role == "tool"] == ["skipped", "ok", "skipped"]
    assert ledger.done == []


def test_an_empty_reply_is_asked_about_once_and_two_in_a_row_end_the_run() -> None:
    once = ScriptedModel([says(""), says("answer")])
    assert run(start(), model=once, stop=None).answer == "answer"
    model = ScriptedModel([says(" ")], forever=True)
    state = run(start(), model=model, stop=None)
    assert (state.status, state.reason, len(model.requests)) == ("no_progress", "empty_replies", 2)


def test_a_pause_is_sent_back_as_it_came() -> None:
    model = ScriptedModel([says("", finish="pause"), says("done")])
    state = run(start(), model=model, stop=None)
    assert [m.role for m in model.requests[1]] == ["system", "user", "assistant"]
    assert state.answer == "done"


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (ModelError("401: no", status=401), "failed", "provider_error"),
        (ModelError("q", status=429, code="insufficient_quota"), "failed", "provider_error"),
        (ModelError("slow", status=429, retryable=True), "no_progress", "rate_limited"),
        (ModelError("x", retryable=True, gave_up="rate_limited"), "no_progress", "rate_limited"),
        (ModelError("503", status=503, retryable=True), "no_progress", "provider_unavailable"),
        (ModelError("big", code="context_length_exceeded"), "context_exceeded", "context_window"),
    ],
)
def test_a_provider_error_ends_the_leg_with_its_kind(
    error: ModelError, status: str, kind: str
) -> None:
    state = run(start(), model=ScriptedModel([error]), stop=None)
    assert (state.status, state.stop and state.stop.kind) == (status, kind)
    assert state.stop is not None
    assert state.stop.evidence["error"] == str(error)
    assert (state.input_tokens, state.lost) == (0, [])


def test_what_had_arrived_before_an_error_is_charged_and_flagged(price: Price) -> None:
    trace = ListTrace()
    error = ModelError("reset", retryable=True, partial=ModelReply("x" * 300))
    state = run(start(), model=ScriptedModel([error]), stop=None, price=price, trace=trace)
    (lost,) = state.lost
    assert lost.usage.estimated
    assert lost.usage.completion_tokens >= 300
    assert state.cost_usd == lost.cost_usd == price.cost(lost.usage)
    assert [e.why for e in trace.events if isinstance(e, RequestLost)] == ["reset"]


def test_failed_attempts_before_a_reply_are_charged_with_it(price: Price) -> None:
    attempts = (Attempt("503", status=503), Attempt("reset", partial=ModelReply("abc")))
    reply = ModelReply("ok", finish="stop", usage=USAGE, attempts=attempts)
    state = run(start(), model=ScriptedModel([reply]), stop=None, price=price)
    assert [lost.why for lost in state.lost] == ["reset"]
    assert state.cost_usd == price.cost(USAGE) + price.cost(state.lost[0].usage)


def test_the_state_survives_json_at_any_stop_and_goes_on(ledger: Ledger, price: Price) -> None:
    model = runaway()
    state = run(start(), model=model, tools=[ledger.read], stop=MaxCost("0.005"), price=price)
    copy = RunState.from_json(state.to_json())
    assert copy == state
    more = run(copy, model=model, tools=[ledger.read], stop=MaxTurns(5), price=price)
    assert (len(more.turns), more.tool_runs, len(model.requests)) == (5, 4, 5)


def test_a_new_user_message_closes_what_is_open_and_goes_on(ledger: Ledger) -> None:
    model = ScriptedModel([calls(("a", "read", {})), says("hello")])
    state = run(start(), model=model, tools=[ledger.read], stop=MaxTurns(1))
    state = run(say(state, "hi"), model=model, tools=[ledger.read], stop=MaxTurns(2))
    assert [m.role for m in model.requests[1]] == ["system", "user", "assistant", "tool", "user"]
    assert model.requests[1][3].content == "Not run: stopped by max_turns (1 of 1)."
    assert state.answer == "hello"


def test_run_inside_an_event_loop_says_what_to_do() -> None:
    async def inside() -> None:
        with pytest.raises(RuntimeError, match="await arun"):
            run(start(), model=ScriptedModel([says("x")]), stop=None)
        state = await arun(start(), model=ScriptedModel([says("x")]), stop=None)
        assert state.answer == "x"

    asyncio.run(inside())


def test_two_tools_of_one_name_or_a_schema_that_is_none_are_refused(ledger: Ledger) -> None:
    with pytest.raises(ValueError, match="two tools are called 'read'"):
        run(start(), model=runaway(), tools=[ledger.read, ledger.read], stop=None)
    broken = Tool("t", "", {"type": "objekt"}, lambda: "")
    with pytest.raises(ValueError, match="tool 't': 'objekt' is not valid"):
        run(start(), model=runaway(), tools=[broken], stop=None)


def test_repeated_call_ids_get_one_of_their_own_on_the_wire(ledger: Ledger) -> None:
    model = ScriptedModel(
        [
            calls(("t:0", "read", {"x": 1})),
            calls(("t:0", "read", {"x": 2}), ("t:0", "read", {})),
            calls(("", "read", {"x": 3})),
            says("done"),
        ]
    )
    state = run(start(), model=model, tools=[ledger.read], stop=MaxTurns(9))
    ids = [m.call_id for m in state.messages if m.role == "tool"]
    assert ids == ["t:0", "t:0_2p0", "t:0_2p1", "call_3p0"]
    assert state.status is Status.COMPLETED


# One reply of any kind, in the proportions that find trouble.
replies = st.one_of(
    st.builds(says, st.sampled_from(["done", "", " "]), finish=st.sampled_from(["stop", "length"])),
    st.just(says("", finish="pause")),
    st.just(says("no", finish="refusal")),
    st.just(ModelError("503", status=503, retryable=True, partial=ModelReply("some"))),
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b", ""]),
            st.sampled_from(["read", "write", "boom", "raed"]),
            st.sampled_from(["{}", '{"x": 1}', '{"x": "1"}', '{"x', "[]"]),
        ),
        min_size=1,
        max_size=4,
    ).map(lambda wanted: calls(*wanted)),
    st.just(calls(("z", "read", {"x": 1}), usage=None)),
)


limits = st.one_of(
    st.builds(MaxTurns, st.integers(0, 8)),
    st.builds(MaxTokens, st.integers(0, 9_000)),
    st.builds(MaxCost, st.integers(0, 20).map(lambda n: Decimal(n) / 1000)),
    st.builds(MaxToolCalls, st.integers(0, 6), st.sampled_from(["stop", "skip", "reject"])),
)


@tool
def boom() -> str:
    """Fail."""
    raise RuntimeError("no")


@settings(max_examples=150, deadline=None)
@given(
    script=st.lists(replies, min_size=1, max_size=8),
    first=limits,
    others=st.lists(st.tuples(limits, st.booleans()), max_size=2),
    errors=st.sampled_from(["fatal", "opaque", "instructive"]),
)
def test_any_script_under_any_composition_ends_with_one_reason_within_its_limits(
    new_ledger: Ledger,
    check: Callable[..., None],
    script: list[Any],
    first: Condition,
    others: list[tuple[Condition, bool]],
    errors: Any,
) -> None:
    ledger, trace, price = new_ledger(), ListTrace(), Price("1", "10")
    stop = MaxTurns(12) | first
    for other, either in others:
        stop = stop | other if either else stop & other
    stop = stop | MaxTurns(12)
    state = start()

    def reply(turn: int, messages: Any) -> Any:
        assert stop(state) == (), "the model was asked though a limit had been reached"
        return script[min(turn, len(script) - 1)]

    model = ScriptedModel(reply)
    tools = [ledger.read, ledger.write(), boom]
    run(
        state,
        model=model,
        tools=tools,
        stop=stop,
        price=price,
        trace=trace,
        settings=Settings(errors=errors),
    )
    check(state, model, trace, price)
    assert state.stop is not None
    assert state.status is state.stop.status
    assert len(state.turns) <= 12
    assert all(stop.overshoot is None or stop.overshoot >= 0 for stop in [state.stop])
    assert len(ledger.done) == sum(m.outcome == "ok" and m.name == "write" for m in state.messages)
    if isinstance(first, MaxToolCalls) and all(either for _, either in others):
        assert state.tool_runs <= (first.limit or 0)


def test_a_client_may_answer_with_a_future_of_its_own() -> None:
    class Future(ScriptedModel):
        def ask(self, *arguments: Any, **options: Any) -> Any:
            return asyncio.ensure_future(super().ask(*arguments, **options))

    state = run(RunState.start("task"), model=Future([says("done")]), stop=MaxTurns(2))
    assert (state.status, state.answer) == ("completed", "done")
