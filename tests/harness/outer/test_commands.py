"""`fakeprovider-harness` as a person uses it: real processes, real sockets, signals, a SIGKILL."""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path

import pytest
from harness_commands import (
    PRICES,
    Shell,
    run_id,
    started,
)

from fakeprovider.server import Server
from fakeprovider_harness import RunState, Store
from fakeprovider_harness.commands.cli import main


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
    command_server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    code: int,
    said: str,
) -> None:
    monkeypatch.setenv("HARNESS_STORE", str(tmp_path / "runs.sqlite"))
    monkeypatch.setenv("LLM_BASE_URL", command_server.base_url)
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
def test_a_home_that_cannot_be_written_is_one_clean_message(
    command_server: Server, variable: str
) -> None:
    command = [
        sys.executable,
        "-P",
        "-m",
        "fakeprovider_harness",
        "run",
        "x",
        "--base-url",
        command_server.base_url,
    ]
    unset = ("HARNESS_STORE", "XDG_STATE_HOME")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    done = started(command, environment={**environment, variable: "/dev/null"})
    assert (done.returncode, done.stdout) == (2, "")
    assert re.search(
        r"^Error: runs cannot be kept in /dev/null/\S*runs.sqlite: .* give", done.stderr, re.M
    )
    assert "Traceback" not in done.stderr


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
