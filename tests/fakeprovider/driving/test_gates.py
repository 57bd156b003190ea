"""`fakeprovider exec`: what its gates say where the run does not decide them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fakeprovider.cli import main

AGENT = """
    import json, os, urllib.request
    messages = [{"role": "user", "content": "go"}]
    names = ("list_files", "read_file", "delete_file")
    tools = [{"type": "function", "function": {"name": name}} for name in names]
    for _ in range(CAP):
        body = json.dumps({"model": "m", "messages": messages, "tools": tools}).encode()
        request = urllib.request.Request(
            os.environ["LLM_BASE_URL"] + "/chat/completions", body,
            {"content-type": "application/json"})
        message = json.load(urllib.request.urlopen(request))["choices"][0]["message"]
        messages.append(message)
        if not message.get("tool_calls"):
            break
        for call in message["tool_calls"]:
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": "Done."})
    """


def run(*options: str, cap: int = 20, then: str = "") -> Result:
    source = textwrap.dedent(AGENT).replace("CAP", str(cap)) + textwrap.dedent(then)
    command = [sys.executable, "-c", source]
    return CliRunner().invoke(main, ["exec", *options, "--", *command])


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["cap"], "--fail-on cap needs --cap N"),
        (["cap", "--max-requests", "5"], "--max-requests is no such limit"),
        (["unapproved"], "--fail-on unapproved needs --effects FILE"),
        (["rejected_as_done"], "--fail-on rejected_as_done needs --effects FILE"),
    ],
    ids=["cap", "max-requests", "unapproved", "rejected"],
)
def test_a_gate_that_can_never_be_observed_is_refused_at_the_start(
    options: list[str], told: str, tmp_path: Path
) -> None:
    mark = tmp_path / "started"
    all_options = ["exec", "--script", "plan", "--fail-on", *options, "--", "touch", str(mark)]
    result = CliRunner().invoke(main, all_options)
    assert result.exit_code == 2
    assert told in " ".join(result.output.split())
    assert not mark.exists()


@pytest.mark.parametrize(("made", "status"), [(4, 0), (5, 3)])
def test_a_stated_cap_is_a_gate(made: int, status: int) -> None:
    result = run("--script", "runaway", "--cap", "4", "--fail-on", "cap", cap=made)
    assert result.exit_code == status
    assert f"{made} model calls under a cap of 4" in result.output


def test_a_named_gate_that_the_run_leaves_open_fails_and_any_lets_it_pass(tmp_path: Path) -> None:
    """A ledger that was never written, and one without a decision."""
    ledger = tmp_path / "effects.jsonl"
    named = ["--script", "destructive", "--effects", str(ledger), "--fail-on", "unapproved"]
    result = run(*named)
    assert result.exit_code == 3
    assert "GATE FAILED: unapproved: not observable, approvals are not on the wire" in result.output
    ledger.write_text('{"effect": "deleted", "target": "a", "tool": "delete_file"}\n')
    result = run(*named)
    assert result.exit_code == 3
    assert "unapproved: not observable, the ledger has effects and no decisions" in result.output
    result = run("--script", "destructive", "--fail-on", "any")
    assert result.exit_code == 0
    assert "NOT DECIDED: unapproved: not observable, approvals are" in result.output


def test_a_gate_without_an_occasion_passes_and_is_named_with_the_reason(tmp_path: Path) -> None:
    ledger = str(tmp_path / "effects.jsonl")
    options = ["--script", "plan", "--effects", ledger, "--fail-on", "unapproved"]
    result = run(*options)
    assert result.exit_code == 0
    told = "unapproved: not applicable, nothing destructive was asked for (--fail-on)"
    assert f"  NOT DECIDED: {told}\n" in result.output
    summary = json.loads(run(*options, "--json").stdout)
    assert summary["undecided_gates"] == [told]


def test_a_ledger_that_cannot_be_read_fails_the_run_and_leaves_the_summary(tmp_path: Path) -> None:
    ledger = tmp_path / "effects.jsonl"
    ledger.write_text("nonsense\n")
    result = run("--script", "plan", "--effects", str(ledger))
    assert result.exit_code == 3
    assert "requests 3 (turns 3" in result.output
    assert f"GATE FAILED: the ledger cannot be read: {ledger}:1: JSON is malformed" in result.output


def test_ctrl_c_is_told_by_its_own_status() -> None:
    """A command that was interrupted before it asked has not missed the provider."""
    command = [sys.executable, "-c", "print(flush=True); import time; time.sleep(600)"]
    with subprocess.Popen(
        [sys.executable, "-m", "fakeprovider", "exec", "--script", "plan", "--", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGINT
    assert "made no request" not in told


def test_a_fault_that_never_struck_is_told() -> None:
    """One that needs a stream, and one for a turn that was never asked for."""
    options = ["--fault", "cut,turn=1", "--fault", "rate_limited,turn=1,times=1,retry_after=0"]
    result = run("--script", "plan;fault=overloaded,turn=9", *options, "--json", cap=1)
    assert json.loads(result.stdout)["unstruck_faults"] == [
        "fault 'overloaded' (turn 9) never struck: the turns that were asked for are 0",
        "fault 'cut' (turn 1) never struck: the turns that were asked for are 0",
        "fault 'rate_limited' (turn 1) never struck: the turns that were asked for are 0",
    ]
    result = run("--script", "plan", "--fault", "cut,turn=1")
    assert "NO EFFECT: fault 'cut' (turn 1) never struck: the reply is not" in result.output


def test_a_range_of_turns_that_ends_before_it_begins_is_refused() -> None:
    result = run("--script", "plan", "--fault", "rate_limited,turn=5-2")
    assert result.exit_code == 2
    assert "turn='5-2': the range ends before it begins" in result.output
    result = run("--script", "plan;fault=rate_limited,turn=5-2")
    assert result.exit_code == 2
