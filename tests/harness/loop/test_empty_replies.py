"""Replies that come to nothing, calls that cannot be run, and measures that cannot be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from effects_ledger import Ledger
from msgspec.structs import replace

from fakeprovider_harness import (
    ConsecutiveErrors,
    ListTrace,
    MalformedCalls,
    MaxTurns,
    NoProgress,
    Price,
    RunState,
    Says,
    Status,
    ToolContext,
    run,
    tool,
)
from fakeprovider_harness.models.base import ModelReply
from fakeprovider_harness.models.scripted import ScriptedModel, calls, problems, says
from fakeprovider_harness.trace import Note

CAP = MaxTurns(300)


def start() -> RunState:
    return RunState.start("task", run_id="r")


def outcomes(state: RunState) -> list[str | None]:
    return [m.outcome for m in state.messages if m.role == "tool"]


@tool
def bash(cmd: str, label: str = "") -> str:
    """Run a command that never comes back."""
    return "timed out"


# Replies that come to nothing


def cut(*wanted: Any, text: str = "") -> ModelReply:
    return replace(calls(*wanted), text=text, finish="length")


HALF = ("c", "write", '{"x": 1')


def test_a_truncated_call_for_ever_stops_after_three_with_nothing_run(
    ledger: Ledger, check: Callable[..., None], price: Price
) -> None:
    model, trace = ScriptedModel(lambda n, _: cut(HALF)), ListTrace()
    state = run(start(), model=model, tools=[ledger.write()], stop=CAP, trace=trace, price=price)
    assert (state.status, state.reason, len(model.requests)) == (
        "no_progress",
        "truncated_replies",
        3,
    )
    assert (ledger.done, outcomes(state)) == ([], ["skipped"] * 3)
    assert "Send the call in smaller pieces" in (model.requests[1][-1].content or "")
    check(state, model, trace)


def test_reasoning_that_never_comes_to_words_is_no_success() -> None:
    thinking = ModelReply("", finish="length", opaque={"chat": {"reasoning": "hmm"}})
    model = ScriptedModel(lambda n, _: thinking)
    state = run(start(), model=model, stop=CAP)
    assert (state.status, len(model.requests)) == ("no_progress", 2)
    assert state.stop is not None
    kinds = {state.stop.kind, *(stop.kind for stop in state.stop.also)}
    assert kinds == {"empty_replies"}
    assert problems(state.messages) == []


def test_five_thousand_calls_in_a_cut_reply_are_answered_and_none_is_run(
    ledger: Ledger,
) -> None:
    flood = cut(*[(f"c{n}", "write", {"x": n}) for n in range(5_000)])
    model = ScriptedModel([flood, says("done")])
    state = run(start(), model=model, tools=[ledger.write()], stop=CAP)
    assert (state.status, ledger.done) == (Status.COMPLETED, [])
    assert problems(model.requests[1]) == []
    texts = [m.content or "" for m in model.requests[1] if m.role == "tool"]
    assert len(texts) == 5_000
    assert sum(map(len, texts[1:])) < 5_000 * 20


def test_text_that_is_continued_is_in_the_transcript_once() -> None:
    model = ScriptedModel([says("Hello ", finish="length"), says("world")])
    state = run(start(), model=model, stop=CAP)
    assert [m.content for m in state.messages if m.role == "assistant"] == ["Hello ", "world"]
    assert state.answer == "Hello world"


def test_a_good_reply_between_starts_the_count_afresh(ledger: Ledger) -> None:
    good = calls(("g", "read", {}))
    model = ScriptedModel([cut(HALF), cut(HALF), good, cut(HALF), cut(HALF), says("done")])
    state = run(start(), model=model, tools=[ledger.write(), ledger.read], stop=CAP)
    assert state.status is Status.COMPLETED


def test_an_empty_reply_is_nudged_once_and_two_in_a_row_are_never_completed(
    ledger: Ledger,
) -> None:
    read = calls(("a", "read", {}))
    model = ScriptedModel([read, says(""), says("answer")])
    state = run(start(), model=model, tools=[ledger.read], stop=CAP)
    assert (state.status, state.answer) == (Status.COMPLETED, "answer")
    model = ScriptedModel([read, says("")], forever=True)
    state = run(start(), model=model, tools=[ledger.read], stop=CAP)
    assert (state.reason, len(model.requests)) == ("empty_replies", 3)
    assert all(m.content for m in state.messages if m.role == "assistant" and not m.calls)


@pytest.mark.parametrize(
    ("reply", "outcome", "words"),
    [
        (cut(("a", "write", '{"x": 1')), "skipped", "Send the call in smaller pieces"),
        (calls(("a", "write", '{"x": 1')), "invalid_args", "end in the middle"),
        (cut(("a", "write", {"x": 1})), "skipped", "the reply was cut off"),
        (calls(("a", "write", '{"x": one}')), "invalid_args", "not valid JSON"),
        (calls(("a", "write", {"x": "1"})), "invalid_args", "'1' is not of type 'integer'"),
    ],
)
def test_cut_or_invalid_arguments_are_not_run_and_said_why(
    ledger: Ledger, reply: ModelReply, outcome: str, words: str
) -> None:
    model = ScriptedModel([reply, says("ok")])
    state = run(start(), model=model, tools=[ledger.write()], stop=CAP)
    assert (ledger.done, outcomes(state)) == ([], [outcome])
    assert words in (model.requests[1][-1].content or "")
    assert problems(model.requests[1]) == []


def test_of_a_cut_reply_only_whole_reads_are_run(ledger: Ledger) -> None:
    wanted = cut(("a", "write", {"x": 1}), ("b", "read", {"x": 1}), ("c", "read", '{"x": '))
    model = ScriptedModel([wanted, says("ok")])
    state = run(start(), model=model, tools=[ledger.write(), ledger.read], stop=CAP)
    assert (ledger.done, outcomes(state)) == ([], ["skipped", "ok", "skipped"])


def test_the_same_malformed_call_for_ever_is_stopped_after_three(
    ledger: Ledger, check: Callable[..., None], price: Price
) -> None:
    model, trace = ScriptedModel(lambda n, _: calls(HALF)), ListTrace()
    stop = CAP | MalformedCalls(3)
    state = run(start(), model=model, tools=[ledger.write()], stop=stop, trace=trace, price=price)
    assert (state.status, state.reason) == ("failed", "malformed_output")
    assert (len(model.requests), ledger.done) == (3, [])
    check(state, model, trace)


def test_a_tool_that_always_fails_is_stopped_and_one_that_recovers_is_not(ledger: Ledger) -> None:
    @tool
    def boom(n: int) -> str:
        """Fail, unless n is a multiple of three."""
        if n % 3:
            raise RuntimeError(f"no {n}")
        return "fine"

    def asking(n: int, _: Any) -> ModelReply:
        return calls((f"c{n}", "boom", {"n": n}))

    recovering = ScriptedModel(lambda n, _: asking(n, _) if n < 12 else says("done"))
    state = run(start(), model=recovering, tools=[boom], stop=CAP | ConsecutiveErrors(3))
    assert state.status is Status.COMPLETED
    failing = ScriptedModel(lambda n, _: asking(3 * n + 1, _))
    state = run(start(), model=failing, tools=[boom], stop=CAP | ConsecutiveErrors(3))
    assert (state.status, state.reason, len(failing.requests)) == (
        "no_progress",
        "consecutive_errors",
        3,
    )


def test_words_to_stop_at_count_only_where_the_model_says_them(ledger: Ledger) -> None:
    task = "Say DONE when you are done.\nDONE"
    talk = replace(calls(("a", "read", {})), text="I will say DONE when I am done.")
    quote = replace(calls(("b", "read", {})), text="> DONE\n```\nDONE\n```")
    state = RunState.start(task, run_id="r")
    said = replace(calls(("c", "read", {})), text="All is well.\n<promise>DONE</promise>\n")
    model = ScriptedModel([talk, quote, said])
    state = run(state, model=model, tools=[ledger.read], stop=CAP | Says("DONE"))
    assert (state.status, state.reason, len(model.requests)) == ("stopped", "predicate", 3)


# A measure that cannot be read


def broken(state: RunState) -> int:
    raise OSError("no such file: left.txt")


def wordy(state: RunState) -> int:
    return "seven"  # type: ignore[return-value]


def unknowable(state: RunState) -> int | None:
    return None


def watched(measure: Any, cap: int = 40) -> tuple[RunState, list[str]]:
    """A run that always has something new to read, under a measure; and the notes of its trace."""
    trace = ListTrace()
    model = ScriptedModel(lambda n, _: calls((f"c{n}", "bash", {"cmd": f"{n}"})))
    stop = MaxTurns(cap) | NoProgress(measure, rounds=3)
    state = run(start(), model=model, tools=[bash], stop=stop, trace=trace)
    return state, [event.text for event in trace.events if isinstance(event, Note)]


@pytest.mark.parametrize(
    ("measure", "why"),
    [
        (broken, "OSError: no such file: left.txt"),
        (wordy, "TypeError: a finite number is wanted, not 'seven'"),
        ("no_such_module:left", "ValueError: no function 'no_such_module:left'"),
    ],
    ids=["raises", "no number", "not found"],
)
def test_a_measure_that_fails_stops_the_run_after_its_rounds(measure: Any, why: str) -> None:
    state, notes = watched(measure)
    assert (state.status, state.reason, len(state.turns)) == ("no_progress", "no_progress", 3)
    assert state.stop is not None
    assert "could not be read for 3 rounds" in str(state.stop)
    assert why in state.stop.evidence["error"]
    assert len(notes) == 4, "before the first turn, and after each round"
    assert all(why in note for note in notes)
    assert RunState.from_json(state.to_json()) == state


@pytest.mark.parametrize("measure", ["failing", unknowable], ids=["never reported", "always None"])
def test_a_number_that_nobody_ever_knows_is_noted_and_in_the_end_stops_the_run(
    measure: Any,
) -> None:
    state, notes = watched(measure)
    assert (state.reason, len(state.turns)) == ("no_progress", 20)
    assert "no tool reported it" in str(state.stop)
    assert len(notes) in (18, 19)
    assert all("no tool reported it" in note for note in notes)


def test_a_measure_that_fails_now_and_then_goes_on_being_watched() -> None:
    def now_and_then(state: RunState) -> int:
        return 9 - len(state.turns) if len(state.turns) % 3 else broken(state)

    state, notes = watched(now_and_then, cap=9)
    assert (state.reason, len(notes)) == ("max_turns", 3)


def test_reading_a_long_time_before_the_first_report_is_no_stop() -> None:
    @tool
    def tests(ctx: ToolContext) -> str:
        """Run the tests."""
        ctx.measure("failing", 1)
        return "1 failed"

    script = [calls((f"c{n}", "bash", {"cmd": f"{n}"})) for n in range(12)]
    script += [calls(("t", "tests", {})), says("done")]
    stop = CAP | NoProgress("failing", rounds=3)
    state = run(start(), model=ScriptedModel(script), tools=[bash, tests], stop=stop)
    assert state.status == "completed"


def test_a_tool_that_reports_no_number_fails_in_words() -> None:
    @tool(read_only=True)
    def tests(ctx: ToolContext) -> str:
        """Run the tests."""
        ctx.measure("failing", float("nan"))
        return "?"

    model = ScriptedModel([calls(("t", "tests", {})), says("done")])
    state = run(start(), model=model, tools=[tests], stop=CAP)
    assert (outcomes(state), state.readings) == (["error"], [])
