"""`python -m harness` as a person uses it: real processes, a real socket, signals, a SIGKILL."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Reply, ask, say
from fakeprovider.scripts.worker import worker
from fakeprovider.server import Server
from harness import Store
from harness.commands.cli import main
from harness.outer.book import Shelf

PRICES = ["--price-in", "2", "--price-out", "12"]


class Trap:
    """A script that does what another one does, but kills a process at its n-th request."""

    def __init__(self) -> None:
        self.at = 0
        self.pid: Callable[[], int] = os.getpid
        self.seen = 0

    def __call__(self, conversation: Conversation) -> Reply:
        """A worker, with a trap."""
        self.seen += 1
        if self.seen == self.at:
            os.kill(self.pid(), signal.SIGKILL)
        return worker(conversation)


def sleeper(conversation: Conversation) -> Reply:
    """Asks for a command that takes a minute; then says what came of it."""
    if conversation.turn == 0:
        return ask("run_command", {"command": "echo started > started; sleep 60"})
    result = conversation.messages[-1].text
    return say(f"it says: {result.splitlines()[0]}")


def writer(conversation: Conversation) -> Reply:
    """Asks to write a file; says whether it was declined."""
    if conversation.turn == 0:
        return ask("write_file", {"path": "out.txt", "text": "hello"})
    declined = "declined" in conversation.messages[-1].text
    return say("declined" if declined else "written")


TRAP = Trap()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    scripts: dict[str, Any] = {"sleeper": sleeper, "writer": writer, "trap": TRAP}
    with Server("plan", scripts=scripts) as server:
        yield server


class Shell:
    """Runs the command in a project, against one script."""

    def __init__(self, server: Server, tmp_path: Path) -> None:
        self.project, self.server = tmp_path / "project", server
        self.project.mkdir()
        self.store = tmp_path / "state" / "runs.sqlite"

    def start(self, script: str, *words: str, stdin: Any = subprocess.PIPE) -> Any:
        command = [sys.executable, "-P", "-m", "harness", *words]
        if words[0] in ("run", "ralph", "loop", "goal", "--resume"):
            command += ["--dir", str(self.project), "--base-url", self.server.url_for(script)]
        return subprocess.Popen(
            command,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "HARNESS_STORE": str(self.store)},
        )

    def __call__(self, script: str, *words: str, said: str = "") -> tuple[int, str, str]:
        process = self.start(script, *words)
        out, err = process.communicate(said, timeout=60)
        return process.returncode, out, err


@pytest.fixture
def shell(server: Server, tmp_path: Path) -> Shell:
    return Shell(server, tmp_path)


def run_id(err: str) -> str:
    found = re.search(r"^(?:run|loop|goal) (\w{32})$", err, re.M)
    assert found, err
    return found.group(1)


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, "it did not happen within 30 s"
        time.sleep(0.02)


def test_the_answer_is_on_standard_output_and_the_rest_is_not(shell: Shell) -> None:
    (shell.project / "errors.log").write_text("ERROR timeout: worker 7 timed out after 30000 ms\n")
    code, out, err = shell("plan", "run", "Which file?", "--max-cost", "0.50", *PRICES)
    assert (code, out) == (
        0,
        "errors.log mentions a timeout: worker 7 timed out after 30000 ms.\n",
    ), err
    assert "turn 3: " in err
    assert "completed: answered" in err
    assert shell("plan", "run", "Which file?", "--quiet")[2].count("\n") == 2


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["run", "x", "--max-cost", "0.5"], 2, "give --price-in and --price-out"),
        (["run"], 2, "say what to do, or --resume RUN_ID"),
        (["run", ""], 2, "say what to do, or --resume RUN_ID; an empty text"),
        (["goal", " ", "--unlimited"], 2, "say the goal, or --resume RUN_ID; an empty text"),
        (["loop", "", "--unlimited"], 2, "say the prompt, or leave it out"),
        (["--resume", "nope"], 1, "no run 'nope'"),
        (["ralph", "--max-iterations", "0"], 2, "iterations=0 would never start"),
        (["ralph"], 2, "or --unlimited"),
        (["ralph", "--max-iterations", "3"], 1, "no plan: write"),
        (["loop", "look", "--every", "soon", "--unlimited"], 2, "write it as 30s, 5m, 2h or 1d"),
        (["goal", "--max-iterations=3", "a", "b"], 2, "unexpected extra argument"),
        (["run", "x", "--price-in", "2"], 2, "give both --price-in and --price-out"),
    ],
)
def test_B30g_a_mistake_is_one_clean_message(
    server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    code: int,
    said: str,
) -> None:
    monkeypatch.setenv("HARNESS_STORE", str(tmp_path / "runs.sqlite"))
    monkeypatch.setenv("LLM_BASE_URL", server.base_url)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(words)
    out, err = capsys.readouterr()
    assert (ended.value.code, out, said in err) == (code, "", True), err
    assert not re.search(r"^(run|loop|goal) \w{32}$", err, re.M), "nothing was begun"


@pytest.mark.parametrize(
    ("typed", "answer", "written"),
    [("y\n", "written", True), ("a\n", "written", True), ("n\nnot now\n", "declined", False)],
)
def test_a_write_is_asked_about_on_the_terminal(
    shell: Shell, typed: str, answer: str, written: bool
) -> None:
    code, out, err = shell("writer", "run", "write it", said=typed)
    assert (code, out) == (0, f"{answer}\n"), err
    assert 'write_file {"path": "out.txt", "text": "hello"}' in err
    assert (shell.project / "out.txt").exists() == written
    if not written:
        with Store(shell.store) as store:
            state = store.load(run_id(err))
        assert "Reason: not now" in (state.messages[-2].content or "")


def test_help_says_how_many_turns_and_that_money_is_reserved(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["run", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert "Turns of one run. [default: 50; goal: no limit]" in said
    assert "It is reserved: a request whose worst case does not fit" in said


def test_a_question_left_open_is_asked_again_on_resume_and_yes_asks_nothing(shell: Shell) -> None:
    code, out, err = shell("writer", "run", "write it")
    assert (code, out) == (130, "")
    assert "no terminal to ask on: answer with --resume RUN_ID at a terminal, or --yes" in err
    assert "after 1 turn\n" in err
    assert " · 1 turn · " in err
    resume = f"run --resume {run_id(err)}"
    assert resume in err
    code, out, _ = shell("writer", *resume.split(), said="y\n")
    assert (code, out) == (0, "written\n")
    code, _, err = shell("writer", "run", "write it", "--yes")
    assert (code, "run it?" in err) == (0, False), err


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


def planned(shell: Shell) -> Path:
    plan = shell.project / "plan.md"
    items = ("write alpha.txt", "write beta.txt", "write gamma.txt")
    plan.write_text("".join(f"- [ ] {item}\n" for item in items))
    return plan


RALPH = ["ralph", "--yes", "--max-iterations", "9", "--max-cost", "1", *PRICES]


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
