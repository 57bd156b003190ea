"""A run that a newer harness wrote is refused, not read with parts of it lost."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from fakeprovider_harness import RunState
from fakeprovider_harness.persistence.store import Store


def newer() -> str:
    state = json.loads(RunState.start("task", run_id="r").to_json())
    return json.dumps({**state, "version": 2})


def test_an_export_of_a_newer_form_is_refused_naming_both() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"newer harness \(form 2; this one .* 1\)"):
        RunState.from_json(newer())


def test_a_state_of_this_form_goes_through_json_unchanged(tmp_path: Path) -> None:
    state = RunState.start("task", run_id="r")
    assert RunState.from_json(state.to_json()) == state
    with Store(tmp_path / "runs.sqlite") as store:
        store.save(state)
        assert store.load("r").to_json() == state.to_json()
