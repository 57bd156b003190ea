"""Public reports about tools: side by side, tried again, reused ids, broken or huge results."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from effects_ledger import Ledger

from fakeprovider_harness import (
    ListTrace,
    MaxToolCalls,
    MaxTurns,
    Price,
    RunState,
    Settings,
    Tool,
    run,
    tool,
)
from fakeprovider_harness.models.scripted import ScriptedModel, calls, says
from fakeprovider_harness.trace import ToolEnd, ToolStart

CAP = MaxTurns(20)


def start() -> RunState:
    return RunState.start("task", run_id="r")


def results(state: RunState) -> list[tuple[str | None, str | None]]:
    return [(m.call_id, m.outcome) for m in state.messages if m.role == "tool"]


def texts(state: RunState) -> list[str]:
    return [m.content or "" for m in state.messages if m.role == "tool"]


# Side by side


class Meeting:
    """Reads that wait for each other: they only return if `size` of them run at once."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.most = 0
        self.inside = 0
        self.order: list[int] = []

    @property
    def meet(self) -> Tool:
        @tool(read_only=True)
        async def meet(x: int) -> str:
            """Wait for the others."""
            self.inside += 1
            self.most = max(self.most, self.inside)
            for _ in range(1_000):
                if self.most >= self.size:
                    break
                await asyncio.sleep(0)
            for _ in range(10 - x):  # the last one called is the first to return
                await asyncio.sleep(0)
            self.order.append(x)
            self.inside -= 1
            return f"met {x}"

        return meet


def test_reads_run_side_by_side_and_their_results_stand_in_call_order(
    check: Callable[..., None], price: Price
) -> None:
    meeting, trace = Meeting(4), ListTrace()
    batch = calls(*[(f"c{n}", "meet", {"x": n}) for n in range(4)])
    model = ScriptedModel([batch, says("done")])
    state = run(start(), model=model, tools=[meeting.meet], stop=CAP, trace=trace, price=price)
    assert meeting.most == 4
    assert meeting.order == [3, 2, 1, 0]
    assert texts(state) == [f"met {n}" for n in range(4)]
    assert results(state) == [(f"c{n}", "ok") for n in range(4)]
    started = [event.call_id for event in trace.events if isinstance(event, ToolStart)]
    ended = [event.call_id for event in trace.events if isinstance(event, ToolEnd)]
    assert (started, ended) == (["c0", "c1", "c2", "c3"], ["c3", "c2", "c1", "c0"])
    check(state, model, trace)


def test_no_more_run_at_once_than_the_setting_allows() -> None:
    meeting = Meeting(2)
    batch = calls(*[(f"c{n}", "meet", {"x": n}) for n in range(6)])
    model = ScriptedModel([batch, says("done")])
    state = run(start(), model=model, tools=[meeting.meet], stop=CAP, settings=Settings(parallel=2))
    assert (meeting.most, len(texts(state))) == (2, 6)


def test_effects_run_alone_and_in_order_between_the_reads_around_them(ledger: Ledger) -> None:
    at_write: list[int] = []
    meeting = Meeting(2)

    @tool
    async def write(x: int) -> str:
        """Write."""
        at_write.append(meeting.inside)
        for _ in range(5):
            await asyncio.sleep(0)
        ledger.done.append((x, list(meeting.order)))
        return f"wrote {x}"

    wanted = [("a", "meet", {"x": 0}), ("b", "meet", {"x": 1}), ("c", "write", {"x": 1}),
              ("d", "write", {"x": 2}), ("e", "meet", {"x": 2})]  # fmt: skip
    model = ScriptedModel([calls(*wanted), says("done")])
    state = run(start(), model=model, tools=[meeting.meet, write], stop=CAP)
    assert at_write == [0, 0]
    assert [x for x, _ in ledger.done] == [1, 2]
    assert ledger.done[0][1] == [1, 0]
    assert texts(state) == ["met 0", "met 1", "wrote 1", "wrote 2", "met 2"]


def test_a_limit_on_calls_is_kept_exactly_among_parallel_reads(ledger: Ledger) -> None:
    batch = calls(*[(f"c{n}", "read", {"x": n}) for n in range(8)])
    model = ScriptedModel([batch, says("done")])
    state = run(start(), model=model, tools=[ledger.read], stop=MaxToolCalls(6))
    assert (state.reason, state.tool_runs) == ("max_tool_calls", 6)
    assert [call.call.id for call in state.pending] == ["c6", "c7"]


def test_equal_reads_of_one_reply_are_run_once_where_results_are_cached(ledger: Ledger) -> None:
    batch = calls(*[(f"c{n}", "read", {"x": 1}) for n in range(3)])
    model = ScriptedModel([batch, says("done")])
    switches = Settings(dedupe="read_only")
    state = run(start(), model=model, tools=[ledger.read], stop=CAP, settings=switches)
    assert (state.tool_runs, texts(state)) == (1, ["v"] * 3)


@pytest.mark.parametrize("errors", ["fatal", "instructive"])
def test_a_sibling_that_raises_loses_nobodys_result_side_by_side(
    ledger: Ledger, errors: Any, check: Callable[..., None], price: Price
) -> None:
    meeting, trace = Meeting(2), ListTrace()

    @tool(read_only=True)
    async def boom() -> str:
        """Fail at once."""
        raise RuntimeError("no")

    wanted = [("a", "meet", {"x": 1}), ("b", "boom", {}), ("c", "meet", {"x": 2}),
              ("d", "write", {"x": 1})]  # fmt: skip
    model = ScriptedModel([calls(*wanted), says("done")])
    tools = [meeting.meet, boom, ledger.write()]
    state = run(
        start(), model=model, tools=tools, stop=CAP, settings=Settings(errors=errors),
        trace=trace, price=price,
    )  # fmt: skip
    ok = errors == "instructive"
    expected = [("a", "ok"), ("b", "error"), ("c", "ok"), ("d", "ok" if ok else "not_started")]
    assert results(state) == expected
    assert ledger.done == ([1] if ok else [])
    assert state.reason == ("answered" if ok else "fatal_tool_error")
    check(state, model, trace)


def test_a_store_that_fails_ends_the_siblings_and_is_what_the_caller_sees(
    ledger: Ledger,
) -> None:
    ended = threading.Event()

    class Fails(Exception):
        pass

    @tool(read_only=True)
    async def slow() -> str:
        """Never return."""
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ""

    class Disk:
        def claim(self, run_id: str) -> Any:
            from contextlib import nullcontext

            return nullcontext()

        def find(self, run_id: str) -> None:
            return None

        def save(self, state: RunState, *, durable: bool = False) -> None:
            if any(call.phase == "done" for call in state.pending):
                raise Fails

    wanted = [("a", "slow", {}), ("b", "read", {})]
    model = ScriptedModel([calls(*wanted), says("done")])
    with pytest.raises(Fails):
        run(start(), model=model, tools=[slow, ledger.read], stop=CAP, store=Disk())
    assert ended.is_set()
