"""Public reports about loops that went on, and about detectors that stopped honest work."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from effects_ledger import Ledger
from msgspec.structs import replace

from fakeprovider_harness import (
    Condition,
    ConsecutiveErrors,
    ListTrace,
    MalformedCalls,
    MaxTurns,
    NoProgress,
    Price,
    RepeatedCalls,
    RunState,
    Status,
    Tool,
    ToolContext,
    approve,
    run,
    say,
    tool,
)
from fakeprovider_harness.models.base import ModelReply
from fakeprovider_harness.models.scripted import ScriptedModel, calls, says
from fakeprovider_harness.trace import Note

CAP = MaxTurns(300)


def start() -> RunState:
    return RunState.start("task", run_id="r")


def outcomes(state: RunState) -> list[str | None]:
    return [m.outcome for m in state.messages if m.role == "tool"]


def nudges(state: RunState) -> list[int]:
    return [nudge.turn for nudge in state.nudges]


@tool
def bash(cmd: str, label: str = "") -> str:
    """Run a command that never comes back."""
    return "timed out"


def again(n: int, _: Any) -> ModelReply:
    return calls((f"c{n}", "bash", {"cmd": "install x"}))


def test_the_same_call_for_ever_is_nudged_after_three_and_stopped_after_four(
    check: Callable[..., None], price: Price
) -> None:
    model, trace = ScriptedModel(again), ListTrace()
    stop = CAP | RepeatedCalls(3)
    state = run(start(), model=model, tools=[bash], stop=stop, trace=trace, price=price)
    assert (state.status, state.reason) == ("no_progress", "repeated_calls")
    assert (len(model.requests), state.tool_runs, nudges(state)) == (4, 4, [3])
    said = model.requests[3][-1]
    assert said.role == "user"
    assert "called bash 3 times over with the same arguments" in (said.content or "")
    assert [e.text[:22] for e in trace.events if isinstance(e, Note)] == ["nudge (repeated_calls)"]
    check(state, model, trace)


def test_without_a_nudge_it_is_stopped_after_three_and_with_neither_at_the_cap() -> None:
    model = ScriptedModel(again)
    state = run(start(), model=model, tools=[bash], stop=CAP | RepeatedCalls(3, nudge=False))
    assert len(model.requests) == 3
    model = ScriptedModel(again)
    state = run(start(), model=model, tools=[bash], stop=CAP)
    assert (len(model.requests), state.reason) == (300, "max_turns")


def test_the_hand_over_says_what_was_asked_and_what_came() -> None:
    state = run(start(), model=ScriptedModel(again), tools=[bash], stop=CAP | RepeatedCalls(3))
    assert state.stop is not None
    assert (state.stop.evidence["tools"], state.stop.evidence["period"]) == (["bash"], 1)
    shown = state.stop.evidence["last_calls"]
    assert len(shown) == 4
    assert shown[-1] == {
        "outcome": "ok",
        "result": "timed out",
        "tool": "bash",
        "args": '{"cmd": "install x"}',
    }


def test_a_person_who_takes_it_up_gives_it_a_fresh_start() -> None:
    model = ScriptedModel(lambda n, _: again(n, _) if n < 5 else says("done"))
    stop = CAP | RepeatedCalls(3)
    state = run(start(), model=model, tools=[bash], stop=stop)
    assert (state.reason, state.resumable) == ("repeated_calls", True)
    state = run(RunState.from_json(state.to_json()), model=model, tools=[bash], stop=stop)
    assert (state.status, nudges(state)) == (Status.COMPLETED, [3])


def test_the_count_goes_on_over_approvals_and_a_saved_state() -> None:
    gated = dataclasses.replace(bash, needs_approval=True)
    model, stop = ScriptedModel(again), CAP | RepeatedCalls(3)
    state = start()
    for _ in range(4):
        state = run(RunState.from_json(state.to_json()), model=model, tools=[gated], stop=stop)
        assert state.reason == "approval"
        approve(state, state.interruptions[0].call_id)
    state = run(state, model=model, tools=[gated], stop=stop)
    assert (state.reason, len(model.requests)) == ("repeated_calls", 4)


def test_a_new_message_of_the_user_starts_the_count_afresh() -> None:
    model, stop = ScriptedModel(again), MaxTurns(2) | RepeatedCalls(2, nudge=False)
    state = run(start(), model=model, tools=[bash], stop=stop)
    assert state.reason == "max_turns"
    state = run(say(state, "and?"), model=model, tools=[bash], stop=MaxTurns(3) | stop.parts[1])
    assert state.reason == "max_turns"


def cosmetic(n: int, _: Any) -> ModelReply:
    arguments = {"cmd": "echo noop", "label": f"noop{n}"}
    if n % 2:
        arguments = dict(reversed(arguments.items()))
    return replace(calls((f"c{n}", "bash", arguments)), text=f"thought {n}")


def test_a_field_that_is_declared_cosmetic_hides_no_loop() -> None:
    declared = dataclasses.replace(bash, cosmetic=("label",))
    model = ScriptedModel(cosmetic)
    state = run(start(), model=model, tools=[declared], stop=CAP | RepeatedCalls(3))
    assert (state.reason, len(model.requests)) == ("repeated_calls", 4)


def test_without_the_declaration_the_results_show_that_nothing_is_learnt() -> None:
    declared = dataclasses.replace(bash, read_only=True)
    model = ScriptedModel(cosmetic)
    stop = CAP | RepeatedCalls(3) | NoProgress(rounds=3)
    state = run(start(), model=model, tools=[declared], stop=stop)
    assert (state.reason, len(model.requests)) == ("no_progress", 4)


def polled(answers: list[str], **declared: Any) -> Tool:
    left = iter(answers)

    def status(job: int) -> str:
        return next(left)

    schema = {"type": "object", "properties": {"job": {"type": "integer"}}}
    return Tool("status", "How far a job is.", schema, status, read_only=True, **declared)


def polls(times: int) -> list[ModelReply]:
    return [calls((f"p{n}", "status", {"job": 1})) for n in range(times)] + [says("done")]


DETECTORS = RepeatedCalls(3) | NoProgress(rounds=3) | ConsecutiveErrors(3) | MalformedCalls(3)


def completed(script: list[ModelReply], tools: list[Tool], stop: Condition = DETECTORS) -> RunState:
    state = run(start(), model=ScriptedModel(script), tools=tools, stop=stop)
    assert (state.status, state.nudges) == (Status.COMPLETED, [])
    return state


def test_polling_with_changing_answers_is_no_loop() -> None:
    completed(polls(8), [polled([*[f"{n}0%" for n in range(1, 8)], "done"])])


def test_eighteen_different_calls_in_one_turn_are_no_loop(ledger: Ledger) -> None:
    batch = calls(*[(f"c{n}", "write", {"x": n}) for n in range(18)])
    state = completed([batch, says("done")], [ledger.write()])
    assert ledger.done == list(range(18))
    assert outcomes(state) == ["ok"] * 18


def test_polling_with_a_pause_between_is_no_loop() -> None:
    @tool(read_only=True)
    def sleep(s: int) -> str:
        """Wait."""
        return "slept"

    script = [
        step
        for n in range(8)
        for step in (calls((f"p{n}", "status", {"job": 1})), calls((f"s{n}", "sleep", {"s": 5})))
    ]
    answers = [f"{n}0%" for n in range(8)]
    completed([*script, says("done")], [polled(answers), sleep])


@pytest.mark.parametrize(
    ("declared", "turns", "reason"),
    [
        ({}, 4, "repeated_calls"),
        ({"polling": True}, 11, "repeated_calls"),
        ({"polling": True, "max_polls": 30}, 21, "answered"),
    ],
)
def test_the_same_answer_trips_unless_the_tool_says_that_it_is_polled(
    declared: Any, turns: int, reason: str
) -> None:
    tools = [polled([*["running"] * 19, "done"], **declared)]
    model = ScriptedModel(polls(20))
    state = run(start(), model=model, tools=tools, stop=RepeatedCalls(3))
    assert (state.reason, len(model.requests)) == (reason, turns)


def test_asking_a_detector_between_steps_changes_nothing() -> None:
    detector, state = RepeatedCalls(3), start()
    model = ScriptedModel(again)
    for cap in range(1, 9):
        run(state, model=model, tools=[bash], stop=MaxTurns(cap) | detector)
        for _ in range(3):
            detector(state), detector.advice(state)
        if state.reason != "max_turns":
            break
    assert (state.reason, len(state.turns), nudges(state)) == ("repeated_calls", 4, [3])


def test_six_equal_polls_of_a_polling_tool_are_no_loop() -> None:
    answers = [*["running"] * 5, "done"]
    completed(polls(6), [polled(answers, polling=True)], RepeatedCalls(3))


def test_the_same_tool_for_other_files_is_no_loop() -> None:
    @tool
    def edit(file: int) -> str:
        """Edit a file."""
        return "ok"

    script = [calls((f"c{n}", "edit", {"file": n})) for n in range(12)]
    completed([*script, says("done")], [edit])


def test_testing_and_editing_in_turn_is_no_loop() -> None:
    failing = count(20, -1)

    @tool
    def edit(file: int) -> str:
        """Edit a file."""
        return "ok"

    @tool(read_only=True)
    def test(ctx: ToolContext) -> str:
        """Run the tests."""
        left = next(failing)
        ctx.measure("failing", left)
        return f"{left} failed"

    script = [
        step
        for n in range(10)
        for step in (calls((f"t{n}", "test", {})), calls((f"e{n}", "edit", {"file": n})))
    ]
    stop = DETECTORS | NoProgress("failing", rounds=3)
    state = completed([*script, says("done")], [edit, test], stop)
    assert [reading.value for reading in state.readings] == list(range(20, 10, -1))


def cycling(*names: str) -> ScriptedModel:
    return ScriptedModel(lambda n, _: calls((f"c{n}", names[n % len(names)], {})))


def constant(name: str) -> Tool:
    return Tool(name, "", {"type": "object", "properties": {}}, lambda: f"result of {name}")


@pytest.mark.parametrize(("names", "turns"), [("ab", 7), ("abc", 10), ("abcde", 16)])
def test_a_cycle_is_stopped_one_turn_after_its_third_round(names: str, turns: int) -> None:
    model = cycling(*names)
    tools = [constant(name) for name in names]
    state = run(start(), model=model, tools=tools, stop=CAP | RepeatedCalls(3))
    assert (state.reason, len(model.requests)) == ("repeated_calls", turns)
    assert state.stop is not None
    assert state.stop.evidence["period"] == len(names)


def test_a_failing_call_between_ever_new_ones_is_stopped(ledger: Ledger) -> None:
    def reply(n: int, _: Any) -> ModelReply:
        name, arguments = ("read", {"x": n}) if n % 2 else ("bash", {"cmd": "make"})
        return calls((f"c{n}", name, arguments))

    @tool(read_only=True)
    def read(x: int) -> str:
        """Read a file."""
        return f"text {x}"

    shell = dataclasses.replace(bash, read_only=True)
    model = ScriptedModel(reply)
    state = run(start(), model=model, tools=[read, shell], stop=CAP | RepeatedCalls(3))
    assert (state.reason, len(model.requests)) == ("repeated_calls", 13)
    assert state.stop is not None
    assert state.stop.evidence["tools"] == ["bash"]


def test_a_new_note_in_each_call_is_no_progress_where_the_tool_changes_nothing() -> None:
    def submit(note: str) -> str:
        return "Result submitted."

    schema = {"type": "object", "properties": {"note": {"type": "string"}}}
    model = ScriptedModel(lambda n, _: calls((f"c{n}", "submit", {"note": f"text {n}"})))
    declared = Tool("submit", "", schema, submit, read_only=True)
    state = run(start(), model=model, tools=[declared], stop=CAP | NoProgress())
    assert (state.reason, len(state.turns)) == ("no_progress", 4)
    cosmetic = Tool("submit", "", schema, submit, cosmetic=("note",))
    model = ScriptedModel(lambda n, _: calls((f"c{n}", "submit", {"note": f"text {n}"})))
    state = run(start(), model=model, tools=[cosmetic], stop=CAP | RepeatedCalls(3))
    assert (state.reason, len(state.turns)) == ("repeated_calls", 4)


def left_over(state: RunState) -> int:
    """Items that are left: none is ever taken away here."""
    return 7


def test_a_measure_of_the_users_own_sees_what_a_tool_does_not_say() -> None:
    model = ScriptedModel(lambda n, _: calls((f"c{n}", "bash", {"cmd": f"{n}"})))
    stop = CAP | NoProgress(left_over, rounds=3)
    state = run(start(), model=model, tools=[bash], stop=stop)
    assert (state.reason, len(state.turns)) == ("no_progress", 3)
    assert state.stop is not None
    assert state.stop.evidence["per_round"] == [[0, 7], [1, 7], [2, 7], [3, 7]]
    assert (state.stop.evidence["left"], len(state.stop.evidence["last_calls"])) == (7, 3)


def test_a_second_trip_after_the_warning_stops_though_the_model_did_something_else() -> None:
    script = [*[again(n, None) for n in range(3)], calls(("x", "bash", {"cmd": "ls"}))]
    script += [again(n, None) for n in range(4, 7)]
    model = ScriptedModel([*script, says("never reached")])
    state = run(start(), model=model, tools=[bash], stop=CAP | RepeatedCalls(3))
    assert (state.reason, len(model.requests), nudges(state)) == ("repeated_calls", 7, [3])


def test_a_cycle_whose_results_improve_runs_on() -> None:
    progress = count()
    better = Tool("a", "", {"type": "object", "properties": {}}, lambda: f"{next(progress)} passed")
    script = [calls((f"c{n}", "ab"[n % 2], {})) for n in range(30)]
    completed([*script, says("done")], [better, constant("b")], RepeatedCalls(3))
