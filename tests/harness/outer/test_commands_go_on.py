"""Runs and loops of `fakeprovider-harness` that end, are interrupted or killed, and go on."""

from __future__ import annotations

import os
import re
import shlex
import signal
import sys
import time

import pytest
from harness_commands import (
    INTERRUPTED_IMPORT,
    PRICES,
    RALPH,
    TRAP,
    Shell,
    pasted,
    planned,
    run_id,
    started,
    wait_for,
)

from fakeprovider_harness import Store
from fakeprovider_harness.outer.report import Shelf


@pytest.mark.parametrize("command", ["run", "goal", "loop", "ralph"])
def test_the_line_to_go_on_with_can_be_pasted_and_works(shell: Shell, command: str) -> None:
    """It carries the options that were given, quoted, and begins as this process did."""
    planned(shell)
    task = [] if command == "ralph" else ["write it"]
    given = ["--max-iterations", "9"] if command != "run" else []
    given += ["--max-turns", "9", "--max-cost", "0.5", *PRICES, "--protect", "it's *.lock"]
    code, _, err = shell("writer", command, *task, *given)
    assert code == 1, err
    words = pasted(err)
    assert words[:5] == [sys.executable, "-P", "-m", "fakeprovider_harness", command]
    environment = {name: value for name, value in os.environ.items() if name != "HARNESS_STORE"}
    done = started(words, "y\n", environment)
    assert "run it? y, n" in done.stderr, done.stderr
    assert (shell.project / "out.txt").exists()
    for option in ("--base-url", "--max-turns", "--max-cost", "--price-in", "--protect", "--store"):
        assert option in words


def test_a_limit_that_counts_over_all_processes_is_to_be_raised_first(shell: Shell) -> None:
    code, _, err = shell("writer", "run", "write it", "--max-turns", "1", "--yes")
    (line,) = re.findall(r"^raise --max-turns above 1 to go on: (.*)$", err, re.M)
    assert (code, "--max-turns 1" in line) == (1, True)
    words = shlex.split(line.replace("--max-turns 1", "--max-turns 2"))
    done = started(words)
    assert (done.returncode, done.stdout) == (0, "written\n"), done.stderr


def test_a_loop_at_its_cap_of_rounds_fires_no_more_until_the_cap_is_raised(shell: Shell) -> None:
    code, _, err = shell(
        "writer", "loop", "look", "--max-iterations", "1", "--yes", "--every", "8d"
    )
    assert code == 1
    assert "the loop ends 7 days after it was made: 8d fires twice" in err
    (line,) = re.findall(r"^raise --max-iterations above 1 to go on: (.*)$", err, re.M)
    done = started(shlex.split(line))
    assert "loop: max_iterations (1 of 1) · 0 iterations" in done.stderr
    assert f"raise --max-iterations above 1 to go on: {line}\n" in done.stderr


@pytest.mark.parametrize("command", ["ralph", "loop"])
def test_a_round_that_failed_says_why(shell: Shell, command: str) -> None:
    planned(shell)
    task = [] if command == "ralph" else ["look"]
    code, _, err = shell("nobody", command, *task, "--max-iterations", "1")
    assert code == 1
    assert re.search(r"^failed: provider_error after 0 turns: .*404.*$", err, re.M), err


def test_a_goal_at_its_cap_says_one_reason(shell: Shell) -> None:
    code, _, err = shell(
        "plan", "goal", "tests pass, or stop after 1 turn", "--max-iterations", "1"
    )
    assert (code, "goal: max_iterations (1 of 1)" in err) == (1, True), err
    assert "max_turns" not in err


def test_a_ralph_that_a_file_stops_says_so_and_not_to_go_on_while_it_is_there(shell: Shell) -> None:
    planned(shell)
    (shell.project / ".ralph").mkdir()
    (shell.project / ".ralph" / "stop").touch()
    code, _, err = shell("worker", *RALPH)
    assert (code, "go on with" in err) == (1, False)
    assert re.search(r"^remove \S+/\.ralph/stop, then: .* ralph ", err, re.M), err


def test_a_question_left_open_is_asked_again_on_resume_and_yes_asks_nothing(shell: Shell) -> None:
    code, out, err = shell("writer", "run", "write it")
    assert (code, out.lstrip(" ")) == (1, ""), "click before 8.2 writes a blank there"
    assert "no terminal to ask on: go on at a terminal, or with --yes" in err
    assert "after 1 turn\n" in err
    assert " · 1 turn · " in err
    resume = f"run --resume {run_id(err)}"
    assert resume in err
    code, out, _ = shell("writer", *resume.split(), said="y\n")
    assert (code, out.lstrip(" ")) == (0, "written\n")
    code, _, err = shell("writer", "run", "write it", "--yes")
    assert (code, "run it?" in err) == (0, False), err


@pytest.mark.parametrize("command", ["run", "ralph", "loop"])
def test_yes_lets_go_on_what_an_earlier_process_left_waiting(shell: Shell, command: str) -> None:
    planned(shell)
    task = [] if command == "ralph" else ["write it"]
    caps = [] if command == "run" else ["--max-iterations", "1"]
    code, _, err = shell("writer", command, *task, *caps)
    assert (code, "no terminal to ask on" in err) == (1, True), err
    done = started([*pasted(err), "--yes"])
    assert "no terminal" not in done.stderr
    assert (shell.project / "out.txt").exists(), done.stderr


def test_ctrl_c_while_the_command_line_loads_is_no_traceback() -> None:
    done = started([sys.executable, "-P", "-c", INTERRUPTED_IMPORT])
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_ctrl_c_ends_the_run_and_its_command_and_resume_goes_on(shell: Shell) -> None:
    process = shell.start("sleeper", "run", "sleep", "--yes")
    wait_for((shell.project / "started").exists)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert time.monotonic() - began < 10
    assert (process.returncode, "Traceback" in err) == (130, False), err
    assert "interrupted: keyboard interrupt" in err
    code, out, err = shell("sleeper", "--resume", run_id(err), "--yes")
    assert (code, out.startswith("it says: ")) == (0, True), err


def test_ctrl_c_ends_a_loop_that_waits_and_its_tasks_are_found_again(shell: Shell) -> None:
    (shell.project / "loop.md").write_text("look after it\n")
    process = shell.start("writer", "loop", "--every", "10s", "--unlimited", "--yes")
    heard = list(iter(process.stderr.readline, "completed: answered after 2 turns\n"))
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=30)
    err = "".join(heard) + rest
    assert (process.returncode, "Traceback" in err) == (130, False), err
    assert "10s is below a minute: it is rounded up to 1m" in err
    assert f"prompt: {shell.project / 'loop.md'}" in err
    tasks = list((shell.store.parent / "loops").glob("*.json"))
    assert [path.stem for path in tasks] == [run_id(err)]


def test_ralph_works_through_a_plan_of_real_files(shell: Shell) -> None:
    plan = planned(shell)
    code, _, err = shell("worker", *RALPH, "--check", "test ! -f broken", "--marker", "COMPLETE")
    assert code == 0, err
    assert plan.read_text().count("- [x]") == 3
    assert "ralph: plan_empty · 3 iterations" in err
    assert "verified: yes" in err
    assert (shell.project / "progress.md").read_text().count("\n") == 3


@pytest.mark.parametrize("at", ["in the check", "at the next request", "in the middle of a run"])
def test_a_ralph_killed_with_SIGKILL_goes_on_from_disk(shell: Shell, at: str) -> None:
    plan = planned(shell)
    script, check = "worker", "true"
    if at == "in the check":  # the run is over, the book does not know it yet
        check = "test -f killed || { touch killed; kill -9 $PPID; }"
    else:  # iteration 1 takes four requests
        script, TRAP.seen, TRAP.at = "trap", 0, 5 if at == "at the next request" else 3
    process = shell.start(script, *RALPH, "--check", check)
    TRAP.pid = lambda: int(process.pid)
    process.communicate("", timeout=60)
    assert process.returncode == -signal.SIGKILL
    left = plan.read_text().count("- [ ]")
    assert left == (3 if at == "in the middle of a run" else 2)
    code, _, err = shell(script, *RALPH, "--check", check)
    assert (code, plan.read_text().count("- [x]")) == (0, 3), err
    with Shelf(shell.project / ".ralph").claim() as book, Store(shell.store) as store:
        numbers = [each.number for each in book.iterations]
        tasks = [each.task for each in book.iterations]
        runs = [store.load(each.run_id) for each in book.iterations]
        spent = book.spent()
    assert numbers == [1, 2, 3]
    assert tasks == ["write alpha.txt", "write beta.txt", "write gamma.txt"]
    assert [each.lost for each in book.iterations] == [False] * 3
    assert spent.cost_usd == sum(run.cost_usd for run in runs)
    flagged = [bool(run.lost) for run in runs]
    assert (
        flagged
        == {
            "in the check": [False, False, False],
            "at the next request": [False, True, False],
            "in the middle of a run": [True, False, False],
        }[at]
    ), "a request in flight is charged and flagged, once"
    lines = (shell.project / "progress.md").read_text().splitlines()
    assert [line.split(":")[0] for line in lines] == [f"- iteration {n}" for n in (1, 2, 3)]


def test_goal_asks_its_evaluator_and_ends_when_the_check_passes_too(shell: Shell) -> None:
    planned(shell)
    code, out, err = shell(
        "worker",
        "goal",
        "every item of plan.md is done, or stop after 8 rounds",
        "--evaluator-url",
        shell.server.url_for("judge"),
        "--check",
        "test -f gamma.txt",
        "--yes",
        "--max-iterations",
        "8",
    )
    assert (code, out) == (0, "All items are done.\n"), err
    assert "goal: met" in err
