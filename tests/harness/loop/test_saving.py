"""What a save may meet: threads, long lists, a loss of power, a disk that is full."""

from __future__ import annotations

import asyncio
import sqlite3
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from fakeprovider_harness import (
    MaxToolCalls,
    MaxTurns,
    NoStore,
    RunState,
    Settings,
    Store,
    Tool,
    arun,
    run,
    tool,
)
from fakeprovider_harness.models.base import Usage
from fakeprovider_harness.models.scripted import ScriptedModel, calls, says
from fakeprovider_harness.state import Check, Nudge, Reading, SideRequest


def test_a_reading_that_a_tool_reports_while_the_run_is_saved_is_not_lost(tmp_path: Path) -> None:
    state = RunState.start("task", run_id="r")
    state.readings.append(Reading(1, "failing", 2))

    def report(statement: str) -> None:
        """As a tool's thread may, at any moment of a save."""
        if "'readings'" in statement and len(state.readings) == 1:
            state.readings.append(Reading(1, "failing", 1))

    with Store(tmp_path / "runs.sqlite") as store:
        store._connection.set_trace_callback(report)
        store.save(state)
        assert len(state.readings) == 2
        store.save(state)
        assert store.load("r").readings == state.readings


GROWING = {
    "checks": Check(1, 1, "fail", feedback="two tests fail" * 10),
    "beside": SideRequest(1, "check", Usage(1_000, 10), Decimal("0.01")),
    "nudges": Nudge(1, "repeated_calls"),
}


@pytest.mark.parametrize("kind", GROWING)
def test_what_grows_with_a_run_is_appended_and_not_written_again(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "runs.sqlite"

    def head() -> int:
        with sqlite3.connect(path) as connection:
            (size,) = connection.execute("SELECT length(head) FROM runs").fetchone()
        connection.close()
        return int(size)

    state = RunState.start("task", run_id="r")
    with Store(path) as store:
        store.save(state)
        small = head()
        getattr(state, kind).extend([GROWING[kind]] * 500)
        store.save(state)
        assert head() < small + 50
        assert getattr(store.load("r"), kind) == [GROWING[kind]] * 500


class Watched(NoStore):
    """Notes of each save whether it was durable, if a request is marked by it."""

    def __init__(self) -> None:
        self.marks: list[bool] = []
        self._marked: Any = None

    def save(self, state: RunState, *, durable: bool = False) -> None:
        if state.request is not None and state.request is not self._marked:
            self.marks.append(durable)
        self._marked = state.request


def test_a_request_is_marked_durably_so_that_no_loss_of_power_hides_what_it_cost() -> None:
    store = Watched()
    model = ScriptedModel([calls(("a", "gone", {})), says("done")])
    run(RunState.start("task"), model=model, stop=MaxTurns(5), store=store)
    assert store.marks == [True, True]


class Failing(Watched):
    """Breaks at the save of the first result."""

    def save(self, state: RunState, *, durable: bool = False) -> None:
        if any(call.result is not None for call in state.pending):
            raise OSError("disk full")


def test_a_store_that_breaks_between_two_reads_leaves_neither_running() -> None:
    """The second read is answered from the cache, which is saved while the first one runs."""

    @tool(read_only=True)
    async def read(x: int) -> str:
        """Read."""
        await asyncio.sleep(30)
        return "v"

    gone = Tool("gone", "Gone.", {"type": "object", "properties": {}}, lambda: "x", read_only=True)
    earlier = [calls(("a", "gone", {}))]
    model = ScriptedModel([*earlier, calls(("b", "read", {"x": 1}), ("c", "gone", {}))])
    settings = Settings(dedupe="read_only")

    async def both() -> None:
        state = RunState.start("task")
        shared: dict[str, Any] = {"model": model, "tools": [read, gone], "settings": settings}
        await arun(state, stop=MaxTurns(1), **shared)
        await arun(state, stop=MaxToolCalls(1), **shared)
        with pytest.raises(OSError, match="disk full"):
            await arun(state, stop=MaxTurns(9), store=Failing(), **shared)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(both())
