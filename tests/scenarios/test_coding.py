"""The coding scenarios' project is real: its tests run in a child process, and count."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fakeprovider_harness import RunState, run
from fakeprovider_harness.conditions import NoProgress
from fakeprovider_harness.models.scripted import ScriptedModel, calls, says
from fakeprovider_harness.verify import failing_tests
from fakeprovider_scenarios import Workspace, find
from fakeprovider_scenarios.projects import FAILING, FILES, coding_tools


@pytest.fixture
def workspace() -> Iterator[Workspace]:
    with find("fixer").workspace() as workspace:
        yield workspace


def play(workspace: Workspace, *wanted: tuple[str, str, object]) -> RunState:
    script = [calls((f"c{n}", name, args)) for n, (_, name, args) in enumerate(wanted)]
    model = ScriptedModel([*script, says("done")])
    return run(RunState.start("task"), model=model, tools=coding_tools(workspace), stop=None)


def results(state: RunState) -> list[tuple[str | None, str]]:
    return [(m.outcome, m.content or "") for m in state.messages if m.role == "tool"]


def test_the_tests_fail_as_they_come_and_the_count_is_a_measure(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    leak = "import os\n\n\ndef test_key():\n    assert 'OPENAI_API_KEY' not in os.environ\n"
    (workspace.files / "test_key.py").write_text(leak)
    state = play(workspace, ("", "run_tests", {}))
    ((outcome, text),) = results(state)
    assert (outcome, text.splitlines()[0]) == ("ok", f"{FAILING} failed, 3 passed")
    assert failing_tests(state) == FAILING
    assert [(r.name, r.value) for r in state.readings] == [("failing", FAILING)]
    assert NoProgress("failing", 1)(state) == ()
    assert sorted(workspace.names()) == sorted([*FILES, "test_key.py"]), "nothing is left behind"


def test_a_write_is_an_effect_and_stays_in_the_workspace(workspace: Workspace) -> None:
    state = play(
        workspace,
        ("", "write_file", {"path": "new.py", "text": "x = 1\n"}),
        ("", "write_file", {"path": "../out.py", "text": ""}),
        ("", "write_file", {"path": "no/such/dir.py", "text": ""}),
    )
    assert [outcome for outcome, _ in results(state)] == ["ok", "error", "error"]
    assert (workspace.targets("wrote"), state.writes) == (["new.py"], 3)
    assert (workspace.files / "new.py").read_text() == "x = 1\n"


@pytest.mark.parametrize("name", ["fixer", "premature", "gaming", "circling"])
def test_each_coding_scenario_is_in_the_catalogue_with_the_same_project(name: str) -> None:
    assert (find(name).files, find(name).script) == (FILES, name)
