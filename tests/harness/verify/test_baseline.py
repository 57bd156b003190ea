"""What a run changed is known whatever it says: code and tests apart, protected files above all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fakeprovider_harness import RunState, run, tool
from fakeprovider_harness.models.scripted import ScriptedModel, calls, says
from fakeprovider_harness.verify import TESTS, Baseline, RedGreen, TestsPass, Untouched, protect
from fakeprovider_harness.verify.baseline import matches


@pytest.mark.parametrize(
    ("path", "is_test"),
    [
        ("test_a.py", True),
        ("src/a_test.py", True),
        ("tests/data/x.json", True),
        ("pkg/tests/x.py", True),
        ("conftest.py", True),
        ("pyproject.toml", True),
        ("latest.py", False),
        ("src/contests.py", False),
    ],
)
def test_what_decides_a_test_is_known_by_its_name(path: str, is_test: bool) -> None:
    assert matches(path, TESTS) is is_test


def test_changes_are_listed_with_their_diffs_and_tests_apart(project: Path, fixed: str) -> None:
    (project / "gone.py").write_text("x = 1\n")
    baseline = Baseline(project, project.parent / "kept", protected=["test_sums.py"])
    assert baseline.changes() == type(baseline.changes())()
    (project / "sums.py").write_text(fixed)
    (project / "gone.py").unlink()
    (project / "new.bin").write_bytes(b"\xff\xfe")
    (project / "conftest.py").write_text("collect_ignore = ['test_sums.py']\n")
    os.makedirs(project / "__pycache__")
    (project / "__pycache__" / "sums.pyc").write_bytes(b"noise")
    changes = baseline.changes()
    assert [(c.path, c.kind) for c in changes.code] == [
        ("gone.py", "removed"),
        ("new.bin", "added"),
        ("sums.py", "modified"),
    ]
    assert "-    return x + 2\n+    return x * 2" in changes.code[2].diff
    assert changes.code[1].diff == "binary file: 0 bytes before, 2 after"
    assert [(c.path, c.kind) for c in changes.tests] == [("conftest.py", "added")]
    assert changes.protected == ()
    (project / "test_sums.py").unlink()
    assert [c.path for c in baseline.changes().protected] == ["test_sums.py"]
    baseline.restore("test_sums.py")
    assert baseline.changes().protected == ()


def test_a_later_process_is_held_against_the_first_baseline(project: Path, fixed: str) -> None:
    Baseline(project, project.parent / "kept")
    (project / "sums.py").write_text(fixed)
    again = Baseline(project, project.parent / "kept")
    assert [change.path for change in again.changes().code] == ["sums.py"]


def test_a_baseline_within_reach_of_the_run_is_refused(project: Path) -> None:
    with pytest.raises(ValueError, match="outside"):
        Baseline(project, project / ".kept")


def test_a_pass_after_a_change_of_tests_is_stale_and_lists_it_apart_from_the_code(
    project: Path, fixed: str, judge: Callable[..., Any]
) -> None:
    verify = Untouched(
        TestsPass.of(project, plugins=False), Baseline(project, project.parent / "kept")
    )
    assert judge(verify).kind == "fail"
    (project / "sums.py").write_text(fixed)
    verdict = judge(verify)
    assert (verdict.kind, [c["path"] for c in verdict.evidence["code_changes"]]) == (
        "pass",
        ["sums.py"],
    )
    (project / "test_sums.py").write_text("def test_double():\n    pass\n")
    verdict = judge(verify)
    assert verdict.kind == "stale"
    assert [c["path"] for c in verdict.evidence["test_changes"]] == ["test_sums.py"]
    assert [c["path"] for c in verdict.evidence["code_changes"]] == ["sums.py"]


def test_a_protected_file_changed_by_whatever_means_fails_the_check(
    project: Path, judge: Callable[..., Any]
) -> None:
    baseline = Baseline(project, project.parent / "kept", protected=TESTS)
    verify = Untouched(lambda claim: True, baseline)
    (project / "test_sums.py").write_text("")
    verdict = judge(verify)
    assert (verdict.kind, "test_sums.py (modified)" in verdict.feedback) == ("fail", True)


def test_a_write_to_a_protected_path_is_denied_in_words_and_nobody_is_asked(project: Path) -> None:
    written = []

    @tool(needs_approval=True)
    def write_file(path: str, text: str) -> str:
        """Write a file."""
        written.append(path)
        return "written"

    os.symlink(project / "test_sums.py", project / "alias.py")
    guarded = protect(write_file, TESTS, root=project)
    paths = ["test_sums.py", "./x/../test_sums.py", str(project / "test_sums.py"), "alias.py"]
    batch = [(f"c{n}", "write_file", {"path": path, "text": ""}) for n, path in enumerate(paths)]
    state = RunState.start("task")
    run(state, model=ScriptedModel([calls(*batch), says("ok")]), tools=[guarded], stop=None)
    results = [message for message in state.messages if message.role == "tool"]
    assert [message.outcome for message in results] == ["denied"] * 4
    assert results[0].content == (
        "Denied: test_sums.py is protected: it is what the work is checked by. "
        "Change the code instead. Nothing was run."
    )
    assert (written, state.tool_runs, state.writes) == ([], 0, 0)
    code = calls(("c", "write_file", {"path": "sums.py", "text": ""}))
    state = run(RunState.start("t"), model=ScriptedModel([code]), tools=[guarded], stop=None)
    assert [wait.call_id for wait in state.interruptions] == ["c"]


def test_a_rule_that_fails_denies(project: Path) -> None:
    @tool
    def write_file(path: str) -> str:
        """Write a file."""
        raise AssertionError("must not run")

    guarded = protect(write_file, TESTS, root=project)
    model = ScriptedModel([calls(("c", "write_file", {"path": "a\0b"})), says("ok")])
    state = run(RunState.start("task"), model=model, tools=[guarded], stop=None)
    assert [m.outcome for m in state.messages if m.role == "tool"] == ["denied"]


def test_red_without_the_fix_and_green_with_it_is_the_only_evidence(
    project: Path, fixed: str, judge: Callable[..., Any]
) -> None:
    verify = RedGreen(Baseline(project, project.parent / "kept"), plugins=False)
    assert judge(verify).kind == "fail"
    (project / "test_sums.py").write_text("def test_double():\n    pass\n")
    assert "no code was changed" in judge(verify).feedback
    (project / "sums.py").write_text(fixed + "# a fix\n")
    assert "they prove nothing" in judge(verify).feedback
    (project / "test_sums.py").write_text(
        "from sums import double\n\n\ndef test_again():\n    assert double(5) == 10\n"
    )
    verdict = judge(verify)
    assert (verdict.kind, verdict.evidence["code_changes"]) == ("pass", ["sums.py"])
    assert "FAILED test_sums.py::test_again" in verdict.evidence["red"]
    assert (project / "sums.py").read_text() == fixed + "# a fix\n"


def test_a_test_of_something_new_is_red_where_it_cannot_even_be_imported(
    project: Path, fixed: str, judge: Callable[..., Any]
) -> None:
    verify = RedGreen(
        Baseline(project, project.parent / "kept"), tests=("test_new.py",), plugins=False
    )
    (project / "sums.py").write_text(fixed + "def treble(x):\n    return x * 3\n")
    (project / "test_new.py").write_text(
        "from sums import treble\n\n\ndef test_treble():\n    assert treble(2) == 6\n"
    )
    assert judge(verify).kind == "pass"
