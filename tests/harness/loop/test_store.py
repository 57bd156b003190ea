"""The store: what it keeps, what it refuses, and that its work per turn does not grow."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from effects_ledger import Ledger

from fakeprovider_harness import (
    MaxTurns,
    NoSuchRun,
    RunBusy,
    RunState,
    StaleRun,
    Status,
    Store,
    run,
)
from fakeprovider_harness.models.scripted import ScriptedModel, calls, says


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "runs.db") as opened:
        yield opened


def finished(store: Store, ledger: Ledger, turns: int = 3, run_id: str = "r") -> RunState:
    def reply(turn: int, _: Any) -> Any:
        return calls((f"c{turn}", "read", {"x": turn})) if turn < turns - 1 else says("done")

    return run(
        RunState.start("task", system="s", run_id=run_id),
        model=ScriptedModel(reply),
        tools=[ledger.read],
        stop=MaxTurns(turns),
        store=store,
    )


def test_what_is_loaded_is_what_was_run(store: Store, ledger: Ledger) -> None:
    state = finished(store, ledger)
    assert state.status is Status.COMPLETED
    assert store.load("r") == state
    assert store.run_ids() == ["r"]


def test_an_unknown_run_is_named(store: Store) -> None:
    assert store.find("nobody") is None
    with pytest.raises(NoSuchRun, match=r"no run 'nobody' in .*runs\.db"):
        store.load("nobody")


def test_without_a_store_nothing_is_kept(ledger: Ledger, tmp_path: Path) -> None:
    run(RunState.start("t"), model=ScriptedModel([says("x")]), stop=None)
    assert list(tmp_path.iterdir()) == []


def test_a_run_is_exported_and_imported_in_a_line_each(
    store: Store, ledger: Ledger, tmp_path: Path
) -> None:
    state = finished(store, ledger)
    exported = store.load("r").to_json()
    with Store(tmp_path / "other.db") as other:
        other.save(RunState.from_json(exported))
        imported = other.load("r")
    assert imported.messages == state.messages
    assert imported.cost_usd == state.cost_usd


def test_a_state_that_is_behind_the_store_is_refused_and_changes_nothing(
    store: Store, ledger: Ledger
) -> None:
    finished(store, ledger)
    one, two = store.load("r"), store.load("r")
    one.answer = "one"
    store.save(one)
    two.answer = "two"
    with pytest.raises(StaleRun, match=r"is at revision \d+ in the store and at \d+ here"):
        store.save(two)
    assert store.load("r").answer == "one"
    with pytest.raises(StaleRun):
        store.save(RunState.start("another", run_id="r"))


def test_a_save_that_fails_leaves_the_store_and_the_revision_as_they_were(
    store: Store, ledger: Ledger
) -> None:
    state = finished(store, ledger)
    before = store.load("r")
    state.always = {"x": object()}  # type: ignore[dict-item]
    state.messages.append(state.messages[-1])
    with pytest.raises((TypeError, NotImplementedError)):
        store.save(state)
    assert state.revision == before.revision
    assert store.load("r") == before


def test_a_run_has_one_owner_and_its_death_frees_it(store: Store, tmp_path: Path) -> None:
    with store.claim("r"), Store(tmp_path / "runs.db") as other:
        with (
            pytest.raises(RunBusy, match="run 'r' is being run by another process"),
            other.claim("r"),
        ):
            pass
        with other.claim("another"):
            pass
    with store.claim("r"):
        pass
    program = (
        "import os, sys; from fakeprovider_harness import Store; s = Store(sys.argv[1]);"
        "c = s.claim('r'); c.__enter__(); os.kill(os.getpid(), 9)"
    )
    dead = subprocess.run([sys.executable, "-c", program, str(tmp_path / "runs.db")], check=False)
    assert dead.returncode == -9
    with store.claim("r"):
        pass


def test_any_run_id_can_be_claimed(store: Store) -> None:
    for run_id in ("a/b", "../../x", "é" * 300, ""):
        with store.claim(run_id):
            pass
    assert all(path.parent == store.path.parent for path in store.path.parent.iterdir())


def test_the_work_per_turn_is_flat(store: Store, ledger: Ledger) -> None:
    """Rows and bytes written by the hundredth turn equal those of the tenth."""
    written: list[int] = []
    seen: list[int] = []

    def traced(statement: str) -> None:
        if statement.startswith(("INSERT", "REPLACE")):
            written.append(len(statement))

    store._connection.set_trace_callback(traced)

    def reply(turn: int, _: Any) -> Any:
        seen.append(sum(written))
        return calls((f"c{turn:03}", "read", {"x": 100 + turn}))

    run(
        RunState.start("task", run_id="r"),
        model=ScriptedModel(reply),
        tools=[ledger.read],
        stop=MaxTurns(100),
        store=store,
    )
    per_turn = [after - before for before, after in pairwise(seen)]
    assert max(per_turn[-10:]) <= 1.05 * max(per_turn[5:15])


def test_what_grows_with_a_run_is_appended_and_not_in_the_head(
    store: Store, ledger: Ledger
) -> None:
    """A list of the state that a run fills is a list of rows; the rest has the size of one turn."""
    finished(store, ledger, turns=5, run_id="short")
    finished(store, ledger, turns=60, run_id="long")
    sizes = dict(store._connection.execute("SELECT run_id, length(head) FROM runs"))
    assert sizes["long"] < sizes["short"] + 64


def test_two_threads_may_save_different_runs(store: Store, ledger: Ledger) -> None:
    import threading

    failures: list[BaseException] = []

    def work(name: str) -> None:
        try:
            for n in range(20):
                finished(store, ledger, run_id=f"{name}{n}")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(store.run_ids()) == 40


def test_the_state_is_one_json_object_whatever_is_in_it() -> None:
    state = RunState.start('é \u2028 \\ " \x00', run_id="r")
    assert RunState.from_json(state.to_json()) == state
    with pytest.raises(msgspec.ValidationError):
        RunState.from_json('{"run_id": 3}')
