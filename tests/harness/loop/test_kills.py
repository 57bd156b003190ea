"""SIGKILL at every point of a run: what is charged, what is done, what goes on."""

from __future__ import annotations

import multiprocessing
import runpy
import signal
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from fakeprovider.server import Server
from fakeprovider_harness import RunBusy, RunState, StaleRun, Status, Store, approve, reject, settle

SCRIPT = Path(__file__).with_name("mortal_run.py")
FULL = Decimal("0.004")  # two requests of 1,000 and 100 tokens at 1 and 10 USD per million

Start = Callable[..., Any]


@pytest.fixture(scope="module")
def processes() -> Any:
    """Processes that start fast: forked from a server that has the harness imported."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["fakeprovider_harness", "fakeprovider_harness.models.scripted", "jsonschema"]
    )
    return context


@pytest.fixture
def start(processes: Any, tmp_path: Path) -> Start:
    """Start the run of `mortal_run.py` in a process of its own."""

    def begin(point: str = "", kind: str = "unsafe") -> Any:
        process = processes.Process(
            target=runpy.run_path,
            args=(str(SCRIPT),),
            kwargs={"init_globals": {"GIVEN": (tmp_path, point, kind)}},
        )
        process.start()
        return process

    return begin


@pytest.fixture
def killed_at(start: Start) -> Start:
    def kill(point: str, kind: str = "unsafe") -> None:
        process = start(point, kind)
        process.join(20)
        assert process.exitcode == -signal.SIGKILL, f"the run did not reach {point!r}"

    return kill


@pytest.fixture
def resumed(start: Start, tmp_path: Path) -> Callable[..., RunState]:
    """The state after another process has gone on with the run."""

    def resume(kind: str = "unsafe") -> RunState:
        process = start("", kind)
        process.join(20)
        assert process.exitcode == 0
        return RunState.from_json((tmp_path / "result.json").read_text())

    return resume


def lines(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


def results(state: RunState) -> list[tuple[str | None, str | None]]:
    return [(m.call_id, m.outcome) for m in state.messages if m.role == "tool"]


def whole(state: RunState, folder: Path, requests: int = 2) -> None:
    """The run came to its end as if nothing had happened."""
    assert (state.status, state.answer) == (Status.COMPLETED, "done")
    assert lines(folder / "ledger") == ["1"]
    assert results(state) == [("r", "ok"), ("a", "ok")]
    assert len(lines(folder / "journal")) == requests


CLEAN = [
    "before request 1 is marked",
    "after reply 1 is stored",
    "before the tool is marked",
    "after the result is stored",
    "before request 2 is marked",
    "after reply 2 is stored",
]


@pytest.mark.parametrize("point", CLEAN)
def test_killed_between_two_steps_costs_nothing_and_repeats_nothing(
    killed_at: Start, resumed: Callable[..., RunState], tmp_path: Path, point: str
) -> None:
    killed_at(point)
    state = resumed()
    whole(state, tmp_path)
    assert (state.cost_usd, state.lost, state.estimated) == (FULL, [], False)


IN_FLIGHT = [
    "after request 1 is marked",
    "in request 1",
    "before reply 1 is stored",
    "in request 2",
    "before reply 2 is stored",
]


@pytest.mark.parametrize("point", IN_FLIGHT)
def test_killed_in_flight_is_one_more_charge_estimated_flagged_and_never_below(
    killed_at: Start, resumed: Callable[..., RunState], tmp_path: Path, point: str
) -> None:
    killed_at(point)
    state = resumed()
    sent = 2 if point == "after request 1 is marked" else 3
    whole(state, tmp_path, requests=sent)
    (lost,) = state.lost
    assert lost.why == "in flight when the process ended"
    assert lost.usage.estimated
    assert state.estimated
    assert lost.cost_usd is not None
    assert state.cost_usd == FULL + lost.cost_usd
    if point.endswith("2") or "reply 2" in point:
        assert lost.usage.prompt_tokens >= 1100  # the first prompt and reply are in the second
    assert lost.usage.completion_tokens >= 100


@pytest.mark.parametrize("kind", ["idempotent", "unsafe"])
@pytest.mark.parametrize(
    ("point", "done"),
    [
        ("after the tool is marked", []),
        ("in the tool", []),
        ("after the effect", ["1"]),
        ("before the result is stored", ["1"]),
    ],
)
def test_killed_while_the_tool_ran_never_does_an_effect_twice(
    killed_at: Start,
    resumed: Callable[..., RunState],
    tmp_path: Path,
    kind: str,
    point: str,
    done: list[str],
) -> None:
    killed_at(point, kind)
    assert lines(tmp_path / "ledger") == done
    state = resumed(kind)
    if kind == "unsafe":
        assert (state.status, state.reason) == ("interrupted", "unknown_outcome")
        assert lines(tmp_path / "ledger") == done
        (wait,) = state.interruptions
        assert (wait.type, wait.call_id, wait.args) == ("unknown_outcome", "a", {"x": 1})
        with Store(tmp_path / "runs.db") as store:
            store.save(settle(state, "a", "wrote 1") if done else approve(state, "a"))
        state = resumed(kind)
    whole(state, tmp_path)
    assert (state.cost_usd, state.lost) == (FULL, [])
    assert len(set(lines(tmp_path / "keys"))) == 1


def test_a_person_may_leave_an_unknown_outcome_at_that(
    killed_at: Start, resumed: Callable[..., RunState], tmp_path: Path
) -> None:
    killed_at("after the effect")
    state = reject(resumed(), "a", "I looked: it is there")
    with Store(tmp_path / "runs.db") as store:
        store.save(state)
    state = resumed()
    assert results(state) == [("r", "ok"), ("a", "unknown")]
    told = state.messages[3].content or ""
    assert "may have taken effect" in told
    assert "I looked: it is there" in told
    assert (state.status, lines(tmp_path / "ledger")) == (Status.COMPLETED, ["1"])


@pytest.mark.parametrize(
    "point",
    [
        "before the approval is asked for",
        "after the approval is asked for",
        "before the decision is stored",
        "after the decision is stored",
    ],
)
def test_killed_around_an_approval_the_write_is_done_once_and_only_after_it(
    killed_at: Start, resumed: Callable[..., RunState], tmp_path: Path, point: str
) -> None:
    killed_at(point, "approved")
    assert lines(tmp_path / "ledger") == []
    state = resumed("approved")
    whole(state, tmp_path)
    assert (state.cost_usd, state.lost) == (FULL, [])


def test_two_processes_resuming_at_once_one_wins_and_the_other_changes_nothing(
    start: Start, tmp_path: Path, mortal: Any
) -> None:
    winner = start("hold")
    end = time.monotonic() + 20
    while not lines(tmp_path / "ledger"):
        assert time.monotonic() < end
        winner.join(0.005)
    with Store(tmp_path / "runs.db") as store:
        stale = store.load("r")
        before = stale.to_json()
        with pytest.raises(RunBusy, match="run 'r' is being run by another process"):
            mortal.go(store, stale)
        assert store.load("r").to_json() == stale.to_json() == before
        (tmp_path / "go").touch()
        winner.join(20)
        assert winner.exitcode == 0
        after = store.load("r").to_json()
        with pytest.raises(StaleRun, match=r"run 'r' is at revision \d+ .*load it again"):
            mortal.go(store, stale)
        assert store.load("r").to_json() == after
    whole(RunState.from_json(after), tmp_path)


@pytest.fixture
def mortal(tmp_path: Path) -> Any:
    """The functions of `mortal_run.py` in this process."""
    from types import SimpleNamespace

    names = runpy.run_path(str(SCRIPT))
    names["go"].__globals__.update(FOLDER=tmp_path, POINT="", KIND="unsafe")
    return SimpleNamespace(**names)


def test_killed_in_the_middle_of_an_answer_the_providers_journal_is_covered(
    processes: Any, server: Server, tmp_path: Path
) -> None:
    """A real provider, a real socket: what its journal adds up to is charged, and nothing less."""
    script = SCRIPT.with_name("mortal_plan.py")
    url = server.url_for("plan", run="killed-in-the-answer")
    codes = []
    for dies in (True, False):
        given = {"GIVEN": (tmp_path, url, dies)}
        process = processes.Process(
            target=runpy.run_path, args=(str(script),), kwargs={"init_globals": given}
        )
        process.start()
        process.join(20)
        codes.append(process.exitcode)
    assert codes == [-signal.SIGKILL, 0]
    with Store(tmp_path / "runs.db") as store:
        state = store.load("r")
    exchanges = server.journal.exchanges("killed-in-the-answer")
    assert (state.status, len(state.turns), len(state.lost)) == (Status.COMPLETED, 3, 1)
    assert state.answer == "errors.log mentions a timeout: worker 7 timed out after 30000 ms."
    assert len(exchanges) == 4
    assert not any(exchange.violations for exchange in exchanges)
    used = [exchange.usage for exchange in exchanges if exchange.usage is not None]
    assert state.input_tokens >= sum(usage.prompt_tokens for usage in used)
    assert state.output_tokens >= sum(usage.completion_tokens for usage in used)
    accepted = [turn.usage.prompt_tokens for turn in state.turns]
    assert accepted[2] == max(usage.prompt_tokens for usage in used)
    assert state.lost[0].usage.prompt_tokens >= accepted[2]
