"""`fakeprovider-harness` as a person uses it: real processes, real sockets, signals, a SIGKILL."""

from __future__ import annotations

import os
import re
import shlex
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
from fakeprovider.scripts.plan_file import worker
from fakeprovider.server import Server
from fakeprovider_harness import RunState, Store
from fakeprovider_harness.commands.cli import main
from fakeprovider_harness.outer.report import Shelf

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
        command = [sys.executable, "-P", "-m", "fakeprovider_harness", *words]
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
        (["ralph", "--max-iterations", "0"], 2, "0 would never start: a cap is above 0"),
        (["ralph"], 2, "or --unlimited"),
        (["ralph", "--max-iterations", "3"], 1, "no plan: write"),
        (["loop", "look", "--every", "soon", "--unlimited"], 2, "write it as 30s, 5m, 2h or 1d"),
        (["goal", "--max-iterations=3", "a", "b"], 2, "unexpected extra argument"),
        (["run", "x", "--price-in", "2"], 2, "give both --price-in and --price-out"),
        (["run", "x", "--max-turns", "0"], 2, "'--max-turns': 0 would never start: a cap is above"),
        (["run", "x", "--max-tokens", "-1"], 2, "-1 would never start: a cap is above 0"),
        (["run", "x", "--max-turns", "two"], 2, "'two' is not a whole number"),
        (["run", "x", "--max-cost", "0", *PRICES], 2, "'--max-cost': 0 would never start"),
        (["run", "x", "--base-url", ""], 2, "give --base-url, or set LLM_BASE_URL"),
        (["run", "x", "--store", ""], 2, "give --store FILE or set HARNESS_STORE"),
        (["run", "x", "--store", "/dev/null/x"], 2, "runs cannot be kept in /dev/null/x: "),
        (["run", "x", "--store", "junk"], 2, "runs cannot be kept in junk: file is not a database"),
        (["run", "x", "--check", " "], 2, "--check is a command; an empty text says nothing"),
        (["goal", "x", "--unlimited", "--evaluator-url", "y"], 2, "base URL 'y' is not an http"),
        (["goal", "x", "--unlimited", "--evaluator-price-in", "1"], 2, "--evaluator-price-out"),
        (["loop", "--unlimited", "--dir", "odd"], 1, "loop.md is no text in UTF-8"),
        (["loop", "x", "--resume", "r", "--unlimited"], 2, "has its prompt and its interval"),
        (["loop", "--resume", "r", "--unlimited"], 1, "run r is no loop: go on with it by `run"),
        (["ralph", "--unlimited", "--prompt-file", "junk"], 2, "junk is no text in UTF-8"),
        (["ralph", "--unlimited", "--dir", "odd"], 1, "plan.md is no text in UTF-8"),
        (
            ["ralph", "--unlimited", "--dir", "prose"],
            1,
            "no item was found in prose/plan.md: write",
        ),
        (["run", "x", "--max-seconds", "1"], 2, "No such option"),
        (["ralph", "--max-seconds", "nan"], 2, "'--max-seconds': 'nan' is not a number of seconds"),
        (["ralph", "--max-seconds", "-1"], 2, "'--max-seconds': -1 would never start: a cap is"),
    ],
)
def test_a_mistake_is_one_clean_message(
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
    (tmp_path / "odd").mkdir()
    for name in ("junk", "odd/loop.md", "odd/plan.md"):
        (tmp_path / name).write_bytes(b"\xff\xfe\x00junk" * 100)
    (tmp_path / "prose").mkdir()
    (tmp_path / "prose" / "plan.md").write_text("Do it.\n")
    with Store(tmp_path / "runs.sqlite") as store:
        store.save(RunState.start("t", run_id="r"))
    with pytest.raises(SystemExit) as ended:
        main(words)
    out, err = capsys.readouterr()
    assert (ended.value.code, out, said in err) == (code, "", True), err
    assert not re.search(r"^(run|loop|goal) \w{32}$", err, re.M), "nothing was begun"


@pytest.mark.parametrize("variable", ["HOME", "XDG_STATE_HOME"])
def test_a_home_that_cannot_be_written_is_one_clean_message(server: Server, variable: str) -> None:
    command = [
        sys.executable,
        "-P",
        "-m",
        "fakeprovider_harness",
        "run",
        "x",
        "--base-url",
        server.base_url,
    ]
    unset = ("HARNESS_STORE", "XDG_STATE_HOME")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    done = started(command, environment={**environment, variable: "/dev/null"})
    assert (done.returncode, done.stdout) == (2, "")
    assert re.search(
        r"^Error: runs cannot be kept in /dev/null/\S*runs.sqlite: .* give", done.stderr, re.M
    )
    assert "Traceback" not in done.stderr


def started(words: list[str], said: str = "", environment: Any = None) -> Any:
    return subprocess.run(
        words,
        input=said,
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
        check=False,
    )


def pasted(err: str) -> list[str]:
    """The words of the command line that a run said it goes on with."""
    (line,) = re.findall(r"^go on with: (.*)$", err, re.M)
    return shlex.split(line)


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


def test_a_url_with_a_key_is_not_printed_from_the_environment(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LLM_BASE_URL", "http://user:hush@127.0.0.1:1/")
    monkeypatch.setenv("HARNESS_STORE", str(tmp_path / "runs.sqlite"))
    (tmp_path / "plan.md").write_text("- [ ] one\n")
    (tmp_path / ".ralph").mkdir()
    (tmp_path / ".ralph" / "stop").touch()
    with pytest.raises(SystemExit):
        main(["ralph", "--unlimited", "--dir", str(tmp_path)])
    (line,) = re.findall(r"^remove \S+, then: (.*)$", capsys.readouterr().err, re.M)
    words = shlex.split(line)
    assert ("hush" in " ".join(words), "--base-url" in words, "--dir" in words) == (
        False,
        False,
        True,
    )


@pytest.mark.parametrize(
    ("typed", "answer", "written"),
    [("y\n", "written", True), ("a\n", "written", True), ("n\nnot now\n", "declined", False)],
)
def test_a_write_is_asked_about_on_the_terminal(
    shell: Shell, typed: str, answer: str, written: bool
) -> None:
    code, out, err = shell("writer", "run", "write it", said=typed)
    assert (code, out.lstrip(" ")) == (0, f"{answer}\n"), err
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


INTERRUPTED_IMPORT = """
import runpy, sys

class Pressed:
    def find_spec(self, name, *_):
        if name == "fakeprovider_harness.commands.cli":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Pressed())
runpy.run_module("fakeprovider_harness", run_name="__main__")
"""


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
