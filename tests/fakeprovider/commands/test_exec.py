"""`fakeprovider exec` as a command line: its options, its summary, its exit status."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from driven_agents import agent

from fakeprovider.cli import main

SCRIPT_ERRORS = {
    "expectation_failed": "turns: [{expect: {user: other}, say: x}]",
    "script_ran_out": "turns: [{ask: list_files}]",
    "script_failed": "turns: [{say: '{{ result }}'}]",
    "recording_drifted": "recorded: [{request: {messages: [{user: other}]}, say: x}]",
}


@pytest.mark.parametrize("code", SCRIPT_ERRORS)
def test_a_script_error_fails_the_run_though_the_agent_swallows_it(
    code: str, tmp_path: Path
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(SCRIPT_ERRORS[code])
    options = ["exec", "--script", str(file), "--", *agent("run()")]
    result = CliRunner().invoke(main, options)
    assert result.exit_code == 3
    assert "  script errors 1\n    exchange " in result.output
    assert f"({code})" in result.output
    assert "GATE FAILED: 1 script error" in result.output
    lenient = CliRunner().invoke(main, ["exec", "--allow-script-errors", "--json", *options[1:]])
    assert lenient.exit_code == 0
    assert "'mine'" in json.loads(lenient.stdout)["script_errors"][0]


EXEC = [sys.executable, "-m", "fakeprovider", "exec"]


def test_the_summary_goes_to_stderr_and_the_commands_output_stays_its_own() -> None:
    done = subprocess.run(
        [*EXEC, "--script", "plan", "--expect-turns", "9", "--", *agent("run(); print('mine')")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 3
    assert done.stdout == "mine\n"
    assert "requests 3 (turns 3, retries 0, errors 0" in done.stderr
    assert "GATE FAILED: 3 turns, expected 9 (--expect-turns)" in done.stderr


def test_the_summary_as_json() -> None:
    result = CliRunner().invoke(
        main, ["exec", "--script", "plan", "--json", "--run", "r", "--", *agent("run()")]
    )
    summary = json.loads(result.stdout)
    assert result.exit_code == 0
    assert summary["run"] == "r"
    assert (summary["turns"], summary["output_tokens"], summary["failed_gates"]) == (3, 70, [])


def test_a_yaml_file_is_a_script_and_so_are_those_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("turns: [{say: hello}]")
    for options in (
        ["--script", str(tmp_path / "mine.yaml")],
        ["--script", "mine", "--scripts", str(tmp_path)],
    ):
        result = CliRunner().invoke(
            main, ["exec", *options, "--expect-turns", "1", "--", *agent("run()")]
        )
        assert result.exit_code == 0, result.output


def test_calls_are_fitted_to_the_clients_tools() -> None:
    mapping = 'scan_archive=read_file:{"path": "a"}'
    result = CliRunner().invoke(
        main,
        ["exec", "--script", "slow", "--map", mapping, "--json", "--", *agent("run()")],
    )
    summary = json.loads(result.stdout)
    assert "scan_archive is not offered: read_file" in summary["replaced"][0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--script", "nobody"], "no script named 'nobody'; there are:"),
        (["--script", "gone.yaml"], "cannot read gone.yaml: No such file"),
        (["--script", "plan", "--map", "a"], "--map 'a': must be NAME=TOOL or NAME=TOOL:JSON"),
        (["--script", "plan", "--map", "a=b:{"], "'{' is no JSON"),
        (["--script", "plan", "--map", "a=b:1"], "the arguments must be a JSON object"),
        (["--script", "plan", "--expect-turns", "5-2"], "'5-2': must be a number such as 3"),
        (
            ["--script", "plan", "--journal", "/no/such/j.jsonl"],
            "cannot write the journal /no/such",
        ),
        (["--script", "plan", "--client", "emacs"], "'emacs' is not one of 'codex'"),
    ],
)
def test_what_cannot_be_run_is_said_before_anything_is_started(
    options: list[str], message: str, tmp_path: Path
) -> None:
    mark = tmp_path / "started"
    result = CliRunner().invoke(main, ["exec", *options, "--", "touch", str(mark)])
    assert result.exit_code in (1, 2)
    assert message in result.output
    assert not mark.exists()


def test_a_command_that_is_not_there_has_the_shells_status() -> None:
    result = CliRunner().invoke(main, ["exec", "--script", "plan", "--", "/no/such/program"])
    assert result.exit_code == 127
    assert "  command could not be started: No such file or directory: /no/such" in result.output


def test_a_signal_reaches_the_command_and_both_end() -> None:
    source = "print(os.getpid(), flush=True); import time; time.sleep(600)"
    with subprocess.Popen(
        [*EXEC, "--script", "plan", "--", *agent(source)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        inner = int(process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 128 + signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(inner, 0)
