"""Approvals: what a decision covers, and public reports about decisions that went elsewhere."""

from __future__ import annotations

import warnings
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
    UnsafeRejection,
    approve,
    reject,
    run,
    say,
    settle,
    tool,
)
from fakeprovider_harness.models.scripted import ScriptedModel, calls, says
from fakeprovider_harness.trace import ApprovalRequired, RunStopped, ToolStart, encode


def start() -> RunState:
    return RunState.start("task", run_id="r")


def outcomes(state: RunState) -> list[tuple[str | None, str | None]]:
    return [(m.call_id, m.outcome) for m in state.messages if m.role == "tool"]


def waiting(state: RunState) -> list[str]:
    return [wait.call_id for wait in state.interruptions]


def through_json(state: RunState) -> RunState:
    return RunState.from_json(state.to_json())


def gated(ledger: Ledger, name: str = "gated") -> Tool:
    @tool(name=name, needs_approval=True)
    def write(x: int) -> str:
        """Write after approval."""
        ledger.done.append(x)
        return f"wrote {x}"

    return write


def asked(*_: Any) -> ScriptedModel:
    return ScriptedModel([calls(("a", "gated", {"x": 1})), says("done")])


def test_the_run_returns_call_tool_and_arguments_and_has_done_nothing(ledger: Ledger) -> None:
    trace = ListTrace()
    state = run(start(), model=asked(), tools=[gated(ledger)], stop=MaxTurns(5), trace=trace)
    assert (state.status, state.reason, ledger.done) == ("interrupted", "approval", [])
    (wait,) = state.interruptions
    assert (wait.type, wait.call_id, wait.tool, wait.args) == ("approval", "a", "gated", {"x": 1})
    asking, stopped = trace.events[-2:]
    assert encode(asking) == (
        b'{"type":"approval_required","run_id":"r","tool":"gated","args":"{\\"x\\": 1}",'
        b'"call_id":"a"}'
    )
    assert isinstance(stopped, RunStopped)


def test_going_on_without_a_decision_asks_again_and_sends_nothing(ledger: Ledger) -> None:
    model, trace, tools = asked(), ListTrace(), [gated(ledger)]
    state = run(start(), model=model, tools=tools, stop=MaxTurns(5), trace=trace)
    run(state, model=model, tools=tools, stop=MaxTurns(5), trace=trace)
    assert (state.reason, len(model.requests), state.legs) == ("approval", 1, 2)
    assert sum(isinstance(e, ApprovalRequired) for e in trace.events) == 2


def test_approved_runs_once(ledger: Ledger, check: Callable[..., None], price: Price) -> None:
    model, trace, tools = asked(), ListTrace(), [gated(ledger)]
    state = run(start(), model=model, tools=tools, stop=MaxTurns(5), trace=trace, price=price)
    state = run(
        approve(state, "a"), model=model, tools=tools, stop=MaxTurns(5), trace=trace, price=price
    )
    assert (state.status, ledger.done, outcomes(state)) == (Status.COMPLETED, [1], [("a", "ok")])
    check(state, model, trace)


def test_an_interruption_outweighs_a_limit_and_the_limit_holds_after_the_approval(
    ledger: Ledger,
) -> None:
    model, tools = asked(), [gated(ledger)]
    state = run(start(), model=model, tools=tools, stop=MaxTurns(1))
    assert state.reason == "approval"
    assert state.stop is not None
    assert [stop.kind for stop in state.stop.also] == ["max_turns"]
    state = run(approve(state, "a"), model=model, tools=tools, stop=MaxTurns(1))
    assert (state.reason, ledger.done) == ("max_turns", [])
    state = run(state, model=model, tools=tools, stop=MaxTurns(2))
    assert (state.status, ledger.done) == (Status.COMPLETED, [1])


def test_a_predicate_decides_who_is_asked_and_one_that_fails_asks(ledger: Ledger) -> None:
    tools = [ledger.write(needs_approval=lambda args: 10 / args["x"] < 1)]
    wanted = [("a", "write", {"x": 5}), ("b", "write", {"x": 50}), ("c", "write", {"x": 0})]
    model = ScriptedModel([calls(*wanted), says("done")])
    state = run(start(), model=model, tools=tools, stop=MaxTurns(5))
    assert (waiting(state), ledger.done) == (["b", "c"], [5])


def test_the_reason_reaches_the_model_verbatim_as_a_decision_and_not_as_an_error(
    ledger: Ledger,
) -> None:
    def reply(turn: int, messages: Any) -> Any:
        said = messages[-1].content or ""
        if turn == 0 or "use dist/" not in said:
            return calls((f"w{turn}", "gated", {"x": 1})) if turn < 3 else says("gave up")
        return says("wrote to dist/")

    model, tools = ScriptedModel(reply), [gated(ledger)]
    state = run(start(), model=model, tools=tools, stop=MaxTurns(5))
    state = run(reject(state, "w0", "use dist/"), model=model, tools=tools, stop=MaxTurns(5))
    assert state.answer == "wrote to dist/"
    text = model.requests[1][-1].content
    assert text == ("The user declined this call: it was rejected and not run. Reason: use dist/")
    assert outcomes(state) == [("w0", "denied")]
    assert ledger.done == []


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (None, "The user declined this call: it was rejected and not run."),
        ("  ", "The user declined this call: it was rejected and not run."),
        ("no", "The user declined this call: it was rejected and not run. Reason: no"),
    ],
)
def test_without_a_reason_the_model_is_still_told(
    ledger: Ledger, reason: str | None, text: str
) -> None:
    model, tools = asked(), [gated(ledger)]
    state = run(start(), model=model, tools=tools, stop=MaxTurns(5))
    run(reject(state, "a", reason), model=model, tools=tools, stop=MaxTurns(5))
    assert model.requests[1][-1].content == text


def test_telling_the_model_nothing_is_explicit_and_warned_about(ledger: Ledger) -> None:
    model, tools = asked(), [gated(ledger)]
    state = run(start(), model=model, tools=tools, stop=MaxTurns(5))
    with pytest.warns(UnsafeRejection, match="will not be told that a was rejected"):
        reject(state, "a", rejection_text="")
    run(state, model=model, tools=tools, stop=MaxTurns(5))
    assert (model.requests[1][-1].content, model.requests[1][-1].outcome) == ("", "denied")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        state = run(start(), model=asked(), tools=tools, stop=MaxTurns(5))
        reject(state, "a", rejection_text="Rejected.")


def batch() -> list[Any]:
    one = {"x": 2}
    wanted = [("a", "write", {"x": 1}), ("b", "gated", one), ("c", "gated", one),
              ("d", "gated", {"x": 4})]  # fmt: skip
    return [calls(*wanted), says("done")]


def test_mixed_decisions_land_on_their_own_calls_in_several_sittings(
    ledger: Ledger, check: Callable[..., None], price: Price
) -> None:
    evaluated: list[int] = []

    @tool(name="gated", needs_approval=lambda args: bool(evaluated.append(args["x"])) or True)
    def once(x: int) -> str:
        """Write after approval."""
        ledger.done.append(x)
        return f"wrote {x}"

    model, trace, tools = ScriptedModel(batch()), ListTrace(), [ledger.write(), once]

    def go(state: RunState) -> RunState:
        state = through_json(state)
        return run(state, model=model, tools=tools, stop=MaxTurns(5), trace=trace, price=price)

    state = go(start())
    assert (waiting(state), ledger.done) == (["b", "c", "d"], [1])
    state = go(reject(approve(state, "b"), "c"))
    assert (waiting(state), ledger.done, len(model.requests)) == (["d"], [1, 2], 1)
    before = state.to_json()
    for stale in ("a", "b", "c", "zz"):
        with pytest.raises(StaleDecision, match=f"call '{stale}' is not waiting.*waiting: d"):
            approve(state, stale)
    assert state.to_json() == before
    state = go(approve(state, "d"))
    assert (state.status, ledger.done, len(model.requests)) == (Status.COMPLETED, [1, 2, 4], 2)
    assert outcomes(state) == [("a", "ok"), ("b", "ok"), ("c", "denied"), ("d", "ok")]
    assert evaluated == [2, 2, 4]
    check(state, model, trace)


def test_a_rejection_of_one_call_beats_an_approval_of_all(ledger: Ledger) -> None:
    model = ScriptedModel(
        [calls(("c1", "gated", {"x": 1})), calls(("c2", "gated", {"x": 2})), says("done")]
    )
    tools = [gated(ledger)]
    state = run(start(), model=model, tools=tools, stop=MaxTurns(5))
    state = run(approve(state, "c1", always=True), model=model, tools=tools, stop=MaxTurns(2))
    assert (ledger.done, [call.call.id for call in state.pending]) == ([1], ["c2"])
    state = run(reject(state, "c2"), model=model, tools=tools, stop=MaxTurns(5))
    assert (ledger.done, outcomes(state)) == ([1], [("c1", "ok"), ("c2", "denied")])


def test_an_approval_does_not_cover_a_later_call_that_reuses_the_id(ledger: Ledger) -> None:
    model = ScriptedModel(
        [calls(("t:0", "gated", {"x": 1})), calls(("t:0", "gated", {"x": 2})), says("done")]
    )
    tools = [gated(ledger)]
    state = run(start(), model=model, tools=tools, stop=MaxTurns(5))
    state = run(approve(state, "t:0"), model=model, tools=tools, stop=MaxTurns(5))
    assert (state.reason, ledger.done) == ("approval", [1])
    (wait,) = state.interruptions
    assert wait.args == {"x": 2}
    with pytest.raises(StaleDecision):
        approve(state, "t:0")


def test_a_replayed_call_is_not_run_again_on_the_old_approval(ledger: Ledger) -> None:
    model = ScriptedModel([calls(("t:0", "gated", {"x": 1}))] * 2 + [says("done")])
    tools = [gated(ledger)]
    state = run(start(), model=model, tools=tools, stop=MaxTurns(5))
    state = run(approve(state, "t:0"), model=model, tools=tools, stop=MaxTurns(5))
    assert (state.reason, ledger.done) == ("approval", [1])


def test_arguments_that_were_changed_after_the_approval_are_asked_about_again(
    ledger: Ledger,
) -> None:
    model, tools = asked(), [gated(ledger)]
    state = approve(run(start(), model=model, tools=tools, stop=MaxTurns(5)), "a")
    tampered = RunState.from_json(state.to_json().replace('"args":{"x":1}', '"args":{"x":666}'))
    assert tampered != state
    tampered = run(tampered, model=model, tools=tools, stop=MaxTurns(5))
    assert (tampered.reason, ledger.done) == ("approval", [])


def test_key_order_and_spacing_do_not_change_what_was_approved(ledger: Ledger) -> None:
    from fakeprovider_harness.state import of_call

    assert of_call("t", {"a": 1, "b": [2]}) == of_call("t", {"b": [2], "a": 1})
    assert of_call("t", {"a": 1}) != of_call("u", {"a": 1})
    assert of_call("t", {"a": 1}) != of_call("t", {"a": "1"})


def test_always_ends_when_the_tool_declares_itself_otherwise(ledger: Ledger) -> None:
    model = ScriptedModel(
        [calls(("c1", "gated", {"x": 1})), calls(("c2", "gated", {"x": 2})),
         calls(("c3", "gated", {"x": 3})), says("done")]
    )  # fmt: skip
    tools = [gated(ledger)]
    state = run(start(), model=model, tools=tools, stop=MaxTurns(5))
    state = run(approve(state, "c1", always=True), model=model, tools=tools, stop=MaxTurns(2))
    state = run(through_json(state), model=model, tools=tools, stop=MaxTurns(2))
    assert ledger.done == [1]

    @tool(name="gated", needs_approval=True)
    def other(x: int, force: bool = True) -> str:
        """Write after approval, by force."""
        ledger.done.append("forced")
        return "forced"

    state = run(state, model=model, tools=[other], stop=MaxTurns(5))
    assert (state.reason, waiting(state), ledger.done) == ("approval", ["c2"], [1])


def test_one_approval_among_parallel_calls(
    ledger: Ledger, check: Callable[..., None], price: Price
) -> None:
    wanted = [("a", "write", {"x": 1}), ("b", "gated", {"x": 2}), ("c", "gated", {"x": 3})]
    model, trace = ScriptedModel([calls(*wanted), says("done")]), ListTrace()
    tools = [ledger.write(), gated(ledger)]

    def go(state: RunState) -> RunState:
        state = through_json(state)
        return run(state, model=model, tools=tools, stop=MaxTurns(5), trace=trace, price=price)

    state = go(start())
    assert (ledger.done, waiting(state)) == ([1], ["b", "c"])
    state = go(approve(state, "b"))
    assert (ledger.done, waiting(state), len(model.requests)) == ([1, 2], ["c"], 1)
    state = go(reject(state, "c"))
    assert (ledger.done, len(model.requests)) == ([1, 2], 2)
    assert outcomes(state) == [("a", "ok"), ("b", "ok"), ("c", "denied")]
    check(state, model, trace)


def test_a_read_passes_a_waiting_call_and_an_effect_does_not(ledger: Ledger) -> None:
    wanted = [("a", "gated", {"x": 1}), ("b", "read", {}), ("c", "write", {"x": 3})]
    model, trace = ScriptedModel([calls(*wanted), says("done")]), ListTrace()
    tools = [ledger.read, ledger.write(), gated(ledger)]
    state = run(start(), model=model, tools=tools, stop=MaxTurns(5), trace=trace)
    assert [e.call_id for e in trace.events if isinstance(e, ToolStart)] == ["b"]
    state = run(approve(state, "a"), model=model, tools=tools, stop=MaxTurns(5), trace=trace)
    assert ledger.done == [1, 3]
    assert outcomes(state) == [("a", "ok"), ("b", "ok"), ("c", "ok")]


def test_a_new_message_instead_of_a_decision_closes_the_call_in_words(ledger: Ledger) -> None:
    model, tools = asked(), [gated(ledger)]
    state = run(start(), model=model, tools=tools, stop=MaxTurns(5))
    state = run(say(state, "never mind"), model=model, tools=tools, stop=MaxTurns(5))
    assert (state.status, ledger.done) == (Status.COMPLETED, [])
    assert outcomes(state) == [("a", "not_started")]


def test_settle_is_only_for_calls_whose_outcome_is_unknown(ledger: Ledger) -> None:
    state = run(start(), model=asked(), tools=[gated(ledger)], stop=MaxTurns(5))
    with pytest.raises(StaleDecision):
        settle(state, "a", "it happened")


def test_an_approval_that_lapsed_is_asked_about_anew_with_the_whole_time_to_decide(
    ledger: Ledger,
) -> None:
    clock, model, tools = FakeClock(), asked(), [gated(ledger)]
    settings = Settings(approval_expiry=100)

    def go_on(state: RunState) -> RunState:
        return run(
            state, model=model, tools=tools, stop=MaxTurns(5), settings=settings, clock=clock
        )

    state = go_on(start())
    clock.advance(90)
    approve(state, "a", at=clock.time(), expires_in=5)
    clock.advance(20)
    state = go_on(state)
    assert (state.reason, ledger.done) == ("approval", [])
    clock.advance(20)
    state = go_on(state)
    assert waiting(state) == ["a"], "20 of 100 seconds have passed since it was asked again"
    state = go_on(approve(state, "a", at=clock.time()))
    assert (state.answer, ledger.done) == ("done", [1])
