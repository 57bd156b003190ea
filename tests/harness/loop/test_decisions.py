"""Decisions of people: changed arguments, time that runs out, who decided what and when."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from effects_ledger import Ledger

from fakeprovider_harness import (
    FakeClock,
    ListTrace,
    MaxTurns,
    Price,
    RunState,
    Settings,
    StaleDecision,
    Status,
    Tool,
    approve,
    reject,
    run,
    say,
    settle,
    tool,
)
from fakeprovider_harness.models.scripted import ScriptedModel, calls, problems, says
from fakeprovider_harness.trace import Decided, ToolStart, encode

CAP = MaxTurns(9)


def start() -> RunState:
    return RunState.start("task", run_id="r")


def gated(ledger: Ledger) -> Tool:
    @tool(name="gated", needs_approval=True)
    def write(x: int) -> str:
        """Write after approval."""
        ledger.done.append(x)
        return f"wrote {x}"

    return write


def asked(*more: Any) -> ScriptedModel:
    return ScriptedModel([calls(("a", "gated", {"x": 1})), *more, says("done")])


def decided(trace: ListTrace) -> list[Decided]:
    return [event for event in trace.events if isinstance(event, Decided)]


def texts(state: RunState) -> list[str]:
    return [m.content or "" for m in state.messages if m.role == "tool"]


# Edits


def test_changed_arguments_are_what_is_run_and_the_model_is_told(
    ledger: Ledger, check: Callable[..., None], price: Price
) -> None:
    model, trace, tools = asked(), ListTrace(), [gated(ledger)]
    more: dict[str, Any] = {"model": model, "tools": tools, "stop": CAP, "trace": trace}
    state = run(start(), **more, price=price)
    approve(state, "a", arguments={"x": 7})
    state = run(RunState.from_json(state.to_json()), **more, price=price)
    assert (ledger.done, state.status) == ([7], Status.COMPLETED)
    assert texts(state) == ['(The user changed the arguments to {"x":7}.)\nwrote 7']
    sent = model.requests[1]
    assert sent[1].calls[0].arguments == '{"x": 1}', "what the model said stays as it was"
    assert [e.args for e in trace.events if isinstance(e, ToolStart)] == ['{"x":7}']
    (event,) = decided(trace)
    assert (event.approved, event.edited) == (True, '{"x":7}')
    check(state, model, trace)


@pytest.mark.parametrize("wrong", [{"x": "seven"}, {}, {"x": 1, "y": 2}])
def test_changed_arguments_that_do_not_fit_are_not_run_and_asked_about_again(
    ledger: Ledger, wrong: dict[str, Any]
) -> None:
    tools = [gated(ledger)]
    state = run(start(), model=asked(), tools=tools, stop=CAP)
    state = run(approve(state, "a", arguments=wrong), model=asked(), tools=tools, stop=CAP)
    assert (state.reason, ledger.done) == ("approval", [])
    (wait,) = state.interruptions
    assert wait.note.startswith("Error: the arguments do not fit gated; nothing was run.")
    state = run(approve(state, "a", arguments={"x": 2}), model=ScriptedModel([says("done")]),
                tools=tools, stop=CAP)  # fmt: skip
    assert ledger.done == [2]


# Expiry


def test_an_approval_that_was_not_acted_on_in_time_is_asked_for_again(ledger: Ledger) -> None:
    clock, tools = FakeClock(), [gated(ledger)]
    more: dict[str, Any] = {"tools": tools, "stop": CAP, "clock": clock}
    model = asked()
    state = run(start(), model=model, **more)
    approve(state, "a", at=clock.now, expires_in=60)
    clock.advance(60)
    state = run(state, model=model, **more)
    assert (state.reason, ledger.done, len(model.requests)) == ("approval", [], 1)
    assert state.interruptions[0].note.startswith("it was approved before, but was not begun")
    approve(state, "a", at=clock.now, expires_in=60)
    clock.advance(59)
    state = run(state, model=model, **more)
    assert (state.status, ledger.done) == (Status.COMPLETED, [1])


def test_a_call_that_nobody_decided_on_in_time_is_answered_as_not_run(ledger: Ledger) -> None:
    clock, tools, model = FakeClock(), [gated(ledger)], asked()
    more: dict[str, Any] = {
        "model": model,
        "tools": tools,
        "stop": CAP,
        "clock": clock,
        "settings": Settings(approval_expiry=3600),
    }
    state = run(start(), **more)
    clock.advance(3599)
    state = run(state, **more)
    assert state.reason == "approval"
    clock.advance(1)
    state = run(state, **more)
    assert (state.status, ledger.done) == (Status.COMPLETED, [])
    assert texts(state) == ["Not run: nobody approved it within 3600 s."]
    with pytest.raises(StaleDecision):
        approve(state, "a")


# Who and when


def test_the_trace_says_who_decided_what_and_when_and_says_it_once(ledger: Ledger) -> None:
    wanted = [("a", "gated", {"x": 1}), ("b", "gated", {"x": 2}), ("c", "gated", {"x": 3})]
    model, trace, tools = ScriptedModel([calls(*wanted), says("done")]), ListTrace(), None
    tools = [gated(ledger)]
    more: dict[str, Any] = {"model": model, "tools": tools, "stop": CAP, "trace": trace}
    state = run(start(), **more)
    approve(state, "a", by="ana", at=1_000.0)
    state = run(RunState.from_json(state.to_json()), **more)
    reject(state, "b", "not this one", by="ben", at=2_000.0)
    approve(state, "c", by="ana", at=3_000.0)
    run(RunState.from_json(state.to_json()), **more)
    shown = [(e.call_id, e.approved, e.by, e.at, e.reason) for e in decided(trace)]
    assert shown == [
        ("a", True, "ana", 1_000.0, None),
        ("b", False, "ben", 2_000.0, "not this one"),
        ("c", True, "ana", 3_000.0, None),
    ]
    assert b'"type":"decided"' in encode(decided(trace)[0])


def test_an_approval_for_the_run_is_told_with_each_call_that_it_covers(ledger: Ledger) -> None:
    more = [calls(("b", "gated", {"x": 2}))]
    model, trace, tools = asked(*more), ListTrace(), [gated(ledger)]
    state = run(start(), model=model, tools=tools, stop=CAP, trace=trace)
    approve(state, "a", always=True, by="ana", at=1_000.0)
    state = run(state, model=model, tools=tools, stop=CAP, trace=trace)
    assert (state.status, ledger.done) == (Status.COMPLETED, [1, 2])
    shown = [(e.call_id, e.by, e.at, e.standing) for e in decided(trace)]
    assert shown == [("a", "ana", 1_000.0, False), ("b", "ana", 1_000.0, True)]


def test_a_decision_without_a_time_is_dated_now(ledger: Ledger) -> None:
    state = approve(run(start(), model=asked(), tools=[gated(ledger)], stop=CAP), "a")
    assert state.pending[0].decision is not None
    assert (state.pending[0].decision.at or 0) > 1_700_000_000


@pytest.mark.parametrize(
    ("given", "error", "wanted"),
    [
        ({"by": None}, TypeError, "by is text; not None"),
        ({"by": 3}, TypeError, "by is text; not 3"),
        ({"at": "now"}, TypeError, "at is a finite number"),
        ({"always": "no"}, TypeError, "always is True or False; not 'no'"),
        ({"arguments": ["x"]}, TypeError, "arguments is a dict, or None"),
        ({"expires_in": float("nan")}, ValueError, "expires_in is a finite number, 0 or more"),
        ({"expires_in": float("inf")}, ValueError, "expires_in is a finite number"),
        ({"expires_in": -1}, ValueError, "expires_in is a finite number"),
        ({"expires_in": True}, TypeError, "expires_in is a finite number"),
        ({"expires_in": "60"}, TypeError, "expires_in is a finite number"),
    ],
    ids=str,
)
def test_a_decision_that_could_not_be_stored_or_meant_is_refused_and_changes_nothing(
    ledger: Ledger, given: dict[str, Any], error: type[Exception], wanted: str
) -> None:
    state = run(start(), model=asked(), tools=[gated(ledger)], stop=CAP)
    before = state.to_json()
    with pytest.raises(error, match=wanted):
        approve(state, "a", **given)
    if next(iter(given)) in ("by", "at"):
        with pytest.raises(error, match=f"reject: {wanted}"):
            reject(state, "a", **given)
        with pytest.raises(error, match=f"settle: {wanted}"):
            settle(state, "a", "it was done", **given)
    assert state.to_json() == before


def test_settling_what_waits_for_an_approval_says_what_to_use_instead(ledger: Ledger) -> None:
    state = run(start(), model=asked(), tools=[gated(ledger)], stop=CAP)
    with pytest.raises(
        StaleDecision, match=r"'a' waits for an approval: use approve\(\) or reject"
    ):
        settle(state, "a", "it was done")


# Superseded


def test_a_new_message_supersedes_the_question_and_no_decision_finds_it(ledger: Ledger) -> None:
    tools, model = [gated(ledger)], asked()
    state = run(start(), model=model, tools=tools, stop=CAP)
    say(state, "do something else")
    with pytest.raises(StaleDecision, match="waiting: none"):
        approve(state, "a")
    state = run(state, model=model, tools=tools, stop=CAP)
    assert (state.status, ledger.done) == (Status.COMPLETED, [])
    assert texts(state) == [
        "Not run: nobody decided on this call before the user wrote something new."
    ]
    assert problems(model.requests[1]) == []


def test_an_approval_that_a_new_message_overtakes_is_not_acted_on(ledger: Ledger) -> None:
    tools, model = [gated(ledger)], asked()
    state = run(start(), model=model, tools=tools, stop=CAP)
    state = say(approve(state, "a"), "wait, no")
    state = run(state, model=model, tools=tools, stop=CAP)
    assert (state.status, ledger.done) == (Status.COMPLETED, [])
