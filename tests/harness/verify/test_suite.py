"""A test run is parsed from what pytest really prints, and only a green one passes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fakeprovider_harness import Cancel, ProcessCancelled, RunState
from fakeprovider_harness.models.base import Message
from fakeprovider_harness.verify import (
    CommandSucceeds,
    TestsPass,
    TestsSeen,
    failing_tests,
    parse_pytest,
    run_pytest,
)


@pytest.mark.parametrize(
    ("line", "counts"),
    [
        ("3 failed, 4 passed in 0.12s", (4, 3, 0)),
        ("============ 1 failed, 2 passed, 1 skipped in 65.01s (0:01:05) ============", (2, 1, 0)),
        ("2 errors in 0.05s", (0, 0, 2)),
        ("1 passed, 1 warning, 1 error in 0.05s", (1, 0, 1)),
        ("3 failed, 4 passed", (4, 3, 0)),
        ("no tests ran in 0.00s", (0, 0, 0)),
        ("no tests collected in 0.00s", (0, 0, 0)),
    ],
)
def test_the_counts_are_read_from_the_last_line_in_any_of_its_forms(
    line: str, counts: tuple[int, int, int]
) -> None:
    run = parse_pytest(f"F..\nE  assert 2 == 3\n{line}\n")
    assert run is not None
    assert (run.passed, run.failed, run.errors) == counts


@pytest.mark.parametrize("text", ["", "Traceback: boom", "we passed 3 times in 2s", "3 passed it"])
def test_text_without_a_summary_has_no_counts(text: str) -> None:
    assert parse_pytest(text) is None


def test_a_real_run_is_red_then_green_and_its_words_hold_no_times_or_paths(
    project: Path, fixed: str, judge: Callable[..., Any]
) -> None:
    verify = TestsPass.of(project, plugins=False)
    red = judge(verify)
    assert (red.kind, red.evidence) == ("fail", {"measure": 1})
    assert red.feedback == (
        "the tests fail.\n1 failed\nFAILED test_sums.py::test_double - assert 5 == 6"
    )
    (project / "sums.py").write_text(fixed)
    assert judge(verify).kind == "pass"


@pytest.mark.parametrize(
    ("file", "text", "kind", "words"),
    [
        ("test_sums.py", "", "fail", "no test passed"),
        ("test_sums.py", "import nowhere\n", "fail", "1 errors"),
        ("sums.py", "import os\nos._exit(0)\n", "fail", "no test passed"),
        ("pytest.ini", "[pytest]\naddopts = --no-such-option\n", "error", "status 4"),
    ],
)
def test_what_is_not_a_test_run_is_no_pass(
    project: Path, judge: Callable[..., Any], file: str, text: str, kind: str, words: str
) -> None:
    (project / file).write_text(text)
    verdict = judge(TestsPass.of(project, plugins=False))
    assert (verdict.kind, words in verdict.feedback) == (kind, True), verdict.feedback


def test_tests_that_hang_are_ended_and_are_an_error_of_the_check(
    project: Path, judge: Callable[..., Any]
) -> None:
    (project / "test_sums.py").write_text("import time\ntime.sleep(60)\n")
    verdict = judge(TestsPass.of(project, timeout=0.5, plugins=False))
    assert (verdict.kind, verdict.feedback) == ("error", "the tests did not end in time")
    cancel = Cancel()
    cancel.set("stop")
    with pytest.raises(ProcessCancelled):
        run_pytest(project, cancel=cancel)


def transcript(*entries: tuple[str, str]) -> RunState:
    state = RunState.start("task")
    state.messages += [
        Message("tool", text, call_id="c", name=name, outcome="ok") for name, text in entries
    ]
    return state


def test_counts_in_the_transcript_are_evidence_until_something_is_written(
    judge: Callable[..., Any],
) -> None:
    verify = TestsSeen()
    assert "no test run was seen" in judge(verify, transcript()).feedback
    green = transcript(
        ("run_tests", "3 failed, 1 passed"), ("write", "w"), ("run_tests", "4 passed")
    )
    assert judge(verify, green, last_write=2).kind == "pass"
    assert failing_tests(green) == 0
    assert "written after the last test run" in judge(verify, green, last_write=4).feedback
    red = transcript(("run_tests", "4 passed"), ("run_tests", "1 failed, 3 passed"))
    assert judge(verify, red).kind == "fail"
    assert (failing_tests(red), failing_tests(transcript())) == (1, None)


def test_a_command_passes_by_its_status_and_its_output_is_the_feedback(
    judge: Callable[..., Any], tmp_path: Path
) -> None:
    def python(code: str, **given: Any) -> Any:
        return judge(CommandSucceeds([sys.executable, "-c", code], cwd=tmp_path, **given))

    assert python("").kind == "pass"
    failed = python("print('row 3 is missing'); raise SystemExit(3)")
    assert failed.kind == "fail"
    assert failed.feedback.endswith("ended with status 3.\nrow 3 is missing")
    assert python("import time; time.sleep(60)", timeout=0.2).kind == "error"
    assert python("import time; time.sleep(60)", timeout=0.2, timeout_fails=True).kind == "fail"
    assert python("raise SystemExit(127)").kind == "error"
    with pytest.raises(OSError, match="no-such-command"):
        judge(CommandSucceeds(["no-such-command"]))
