"""Public reports about limits, by their number in the collection of cases."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from effects_ledger import Ledger

from fakeprovider_harness import (
    ActiveTime,
    Deadline,
    FakeClock,
    ListTrace,
    MaxToolCalls,
    MaxTurns,
    Price,
    RunState,
    Settings,
    Status,
    ToolContext,
    approve,
    close,
    run,
    say,
    tool,
)
from fakeprovider_harness.models.scripted import ScriptedModel, calls, problems, says
from fakeprovider_harness.trace import RunResumed, ToolProgress


def start() -> RunState:
    return RunState.start("task", run_id="r")


def outcomes(state: RunState) -> list[tuple[str | None, str | None]]:
    return [(m.call_id, m.outcome) for m in state.messages if m.role == "tool"]


def reads(n: int) -> Any:
    return calls((f"c{n}", "read", {"x": n}))


def test_a_limit_loses_no_work_and_the_run_goes_on_from_there(
    ledger: Ledger, price: Price, check: Callable[..., None]
) -> None:
    model, trace = ScriptedModel([reads(0), reads(1), reads(2), says("done")]), ListTrace()
    state = run(
        start(), model=model, tools=[ledger.read], stop=MaxTurns(2), trace=trace, price=price
    )
    assert (state.reason, len(model.requests), state.tool_runs) == ("max_turns", 2, 1)
    assert [call.call.id for call in state.pending] == ["c1"]
    assert state.resumable
    state = RunState.from_json(state.to_json())
    state = run(state, model=model, tools=[ledger.read], stop=MaxTurns(4), trace=trace, price=price)
    assert (state.status, state.answer) == (Status.COMPLETED, "done")
    assert (len(model.requests), state.tool_runs) == (4, 3)
    assert outcomes(state) == [("c0", "ok"), ("c1", "ok"), ("c2", "ok")]
    check(state, model, trace)


def test_a_transcript_handed_on_answers_the_open_call_in_words(ledger: Ledger) -> None:
    model = ScriptedModel([reads(0), reads(1)])
    state = close(run(start(), model=model, tools=[ledger.read], stop=MaxTurns(2)))
    assert problems(state.messages) == []
    assert state.messages[-1].content == "Not run: stopped by max_turns (2 of 2)."
    assert state.messages[-1].outcome == "not_started"


def test_a_cap_of_three_is_three_requests_and_two_tool_runs(ledger: Ledger) -> None:
    model = ScriptedModel(lambda n, _: reads(n))
    state = run(start(), model=model, tools=[ledger.read], stop=MaxTurns(3))
    assert (len(model.requests), state.tool_runs, state.reason) == (3, 2, "max_turns")
    assert [call.call.id for call in state.pending] == ["c2"]


def test_done_on_the_last_permitted_turn_is_completed(ledger: Ledger) -> None:
    model = ScriptedModel([reads(0), says("done")])
    state = run(start(), model=model, tools=[ledger.read], stop=MaxTurns(2))
    assert (state.status, state.reason) == (Status.COMPLETED, "answered")


BURST = calls(*[(f"c{n}", "write", {"x": n}) for n in range(8)])


def test_stop_runs_exactly_the_prefix_and_the_rest_is_answered_on_hand_over(
    ledger: Ledger,
) -> None:
    model = ScriptedModel([BURST, says("done")])
    tools = [ledger.write()]
    state = run(start(), model=model, tools=tools, stop=MaxToolCalls(6))
    assert ledger.done == [0, 1, 2, 3, 4, 5]
    assert (state.status, state.reason) == ("max_turns_exceeded", "max_tool_calls")
    assert [call.call.id for call in state.pending] == ["c6", "c7"]
    state = run(say(state, "go on"), model=model, tools=tools, stop=MaxToolCalls(6))
    expected = [(f"c{n}", "ok" if n < 6 else "skipped") for n in range(8)]
    assert outcomes(state) == expected
    assert (state.status, ledger.done[6:]) == (Status.COMPLETED, [])


@pytest.mark.parametrize(("over", "ran"), [("skip", 6), ("reject", 0)])
def test_skip_and_reject_answer_in_words_and_go_on(ledger: Ledger, over: Any, ran: int) -> None:
    model = ScriptedModel([BURST, says("done")])
    state = run(start(), model=model, tools=[ledger.write()], stop=MaxToolCalls(6, over))
    assert ledger.done == list(range(ran))
    assert outcomes(state) == [(f"c{n}", "ok" if n < ran else "skipped") for n in range(8)]
    assert (state.status, len(model.requests)) == (Status.COMPLETED, 2)
    assert "max_tool_calls allows 6" in (model.requests[1][-1].content or "")


def thinking(clock: FakeClock, script: list[Any]) -> ScriptedModel:
    def reply(turn: int, _: Any) -> Any:
        clock.advance(1)
        return script[turn]

    return ScriptedModel(reply)


def test_time_that_a_person_thinks_is_not_active_time(ledger: Ledger) -> None:
    clock, trace = FakeClock(), ListTrace()
    model = thinking(clock, [calls(("c0", "write", {"x": 1})), says("done")])
    tools = [ledger.write(needs_approval=True)]
    state = run(start(), model=model, tools=tools, stop=ActiveTime(60), clock=clock, trace=trace)
    assert state.reason == "approval"
    clock.advance(36_000)
    state = RunState.from_json(approve(state, "c0").to_json())
    state = run(state, model=model, tools=tools, stop=ActiveTime(60), clock=clock, trace=trace)
    assert (state.status, ledger.done) == (Status.COMPLETED, [1])
    assert (state.times.active, state.times.elapsed) == (2, 36_002)
    (resumed,) = (event for event in trace.events if isinstance(event, RunResumed))
    assert resumed.waited == 36_000


def test_an_absolute_deadline_that_passed_meanwhile_keeps_the_call_from_running(
    ledger: Ledger,
) -> None:
    clock = FakeClock()
    model = thinking(clock, [calls(("c0", "write", {"x": 1})), says("done")])
    tools = [ledger.write(needs_approval=True)]
    state = run(start(), model=model, tools=tools, stop=Deadline(60), clock=clock)
    clock.advance(36_000)
    state = run(approve(state, "c0"), model=model, tools=tools, stop=Deadline(60), clock=clock)
    assert (state.status, state.reason, ledger.done) == ("deadline_exceeded", "deadline", [])
    close(state)
    assert outcomes(state) == [("c0", "not_started")]
    assert "stopped by deadline" in (state.messages[-1].content or "")


def test_a_hung_tool_times_out_though_it_reports_progress(
    ledger: Ledger, check: Callable[..., None], price: Price
) -> None:
    released = threading.Event()
    trace = ListTrace()

    @tool
    def hang(ctx: ToolContext) -> str:
        """Hang, and say so all the time."""
        while not released.wait(0.02):
            ctx.progress("still here")
        return "late"

    model = ScriptedModel([calls(("c0", "hang", {}), ("c1", "write", {"x": 1})), says("done")])
    began = time.monotonic()
    state = run(
        start(),
        model=model,
        tools=[hang, ledger.write()],
        stop=ActiveTime(5),
        settings=Settings(tool_timeout=0.2, grace=0.05),
        trace=trace,
        price=price,
    )
    assert time.monotonic() - began < 2
    assert outcomes(state) == [("c0", "timeout"), ("c1", "ok")]
    text = model.requests[1][2].content or ""
    assert "timed out after 0.2 s" in text
    assert "may still be running" in text
    assert "may have taken effect" in text
    assert (state.status, ledger.done) == (Status.COMPLETED, [1])
    assert any(isinstance(event, ToolProgress) for event in trace.events)
    check(state, model, trace)
    silent = len(trace.events)
    released.set()
    deadline = time.monotonic() + 2
    while len(trace.events) == silent and time.monotonic() < deadline:
        threading.Event().wait(0.005)
    assert [type(event).__name__ for event in trace.events[silent:]] == ["LateEffect"]


def test_the_process_ends_though_a_tool_hangs_in_its_thread() -> None:
    program = """
import threading
from fakeprovider_harness import MaxTurns, RunState, Settings, run, tool
from fakeprovider_harness.models.scripted import ScriptedModel, calls, says
@tool(timeout=0.05)
def hang() -> str:
    "Hang."
    threading.Event().wait()
model = ScriptedModel([calls(("a", "hang", {})), says("done")])
state = run(RunState.start("t"), model=model, tools=[hang], stop=MaxTurns(5))
print(state.status)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("completed\n", "", 0)


def test_an_async_tool_that_swallows_its_cancellation_does_not_keep_the_run(
    ledger: Ledger,
) -> None:
    @tool(timeout=0.05)
    async def stubborn() -> str:
        """Ignore being cancelled."""
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                continue

    model = ScriptedModel([calls(("a", "stubborn", {})), says("done")])
    state = run(
        start(), model=model, tools=[stubborn], stop=MaxTurns(5), settings=Settings(grace=0.02)
    )
    assert outcomes(state) == [("a", "timeout")]
    assert state.status is Status.COMPLETED
