"""Somebody else's harness is driven through its environment and judged from the journal."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner

from fakeprovider_bench.cli import cli

NAIVE = """
import json, os, urllib.request

url = os.environ["LLM_BASE_URL"] + "/chat/completions"
tools = [{"type": "function", "function": {"name": name}} for name in ("list_files", "read_file")]
messages = [{"role": "user", "content": "Which file mentions a timeout?"}]
while True:
    body = json.dumps({"model": "any", "messages": messages, "tools": tools}).encode()
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(url, body, headers)
    with urllib.request.urlopen(request) as response:
        message = json.load(response)["choices"][0]["message"]
    messages.append(message)
    if not message.get("tool_calls"):
        break
    for call in message["tool_calls"]:
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": "[]"})
"""


@pytest.fixture
def naive(tmp_path: Path) -> list[str]:
    """A harness that knows neither us nor any limit."""
    path = tmp_path / "naive.py"
    path.write_text(NAIVE)
    return ["--", sys.executable, str(path)]


def test_a_harness_without_a_limit_is_cut_off_and_its_bill_tabulated(naive: list[str]) -> None:
    result = CliRunner().invoke(cli, ["runaway", "--cap", "8,12", "--json", *naive])
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert [row["turns"] for row in report["rows"]] == [8, 12]
    first = report["rows"][0]
    assert (first["stop"]["kind"], first["stop"]["limit"]) == ("cut_off", 8)
    assert (first["status"], first["tool_runs"], first["answer"]) == (None, None, None)
    assert len(first["prompt_tokens"]) == 8
    cost = (2 * first["input_tokens"] + 12 * first["output_tokens"]) / 10**6
    assert float(first["cost_usd"]) == pytest.approx(cost)
    assert report["growth"]["exponent"] > 1.5


def test_a_harness_that_ends_by_itself_is_left_alone(naive: list[str]) -> None:
    result = CliRunner().invoke(cli, ["plan", "--json", *naive])
    (row,) = json.loads(result.stdout)["rows"]
    assert (row["turns"], row["stop"], row["extra"]["exit"]) == (3, None, 0)


def test_a_command_that_asks_nothing_is_told_where_the_provider_is() -> None:
    result = CliRunner().invoke(cli, ["plan", "--", sys.executable, "-c", "print('hello')"])
    assert result.exit_code == 1
    assert "made no request (exit status 0)" in result.output
    assert "LLM_BASE_URL" in result.output
    assert "hello" in result.output


def test_a_budget_cannot_be_enforced_on_another_harness_and_that_is_said(
    naive: list[str],
) -> None:
    result = CliRunner().invoke(cli, ["runaway", "--budget", "0.01", *naive])
    assert result.exit_code == 2
    assert "--max-tokens" in result.output


def test_a_harness_that_is_only_refused_is_shown_with_the_last_refusal() -> None:
    refused = (
        "import os, urllib.request, urllib.error\n"
        "request = urllib.request.Request(os.environ['LLM_BASE_URL'] + '/chat/completions', b'{}',"
        " {'content-type': 'application/json'})\n"
        "try:\n    urllib.request.urlopen(request)\nexcept urllib.error.HTTPError:\n    pass"
    )
    result = CliRunner().invoke(cli, ["plan", "--json", "--", sys.executable, "-c", refused])
    (row,) = json.loads(result.stdout)["rows"]
    assert (row["turns"], row["extra"]["requests"]) == (0, 1)
    assert row["extra"]["never answered"].startswith("400: ")


def test_an_unknown_script_for_another_harness_is_told_with_what_there_is() -> None:
    result = CliRunner().invoke(cli, ["plan", "--model", "plam", "--", "true"])
    assert result.exit_code == 2
    assert "Invalid value for --model: no script named 'plam'; there are: " in result.output


HELD = """
import pathlib, signal, sys, time

if sys.argv[2] == "deaf":
    signal.signal(signal.SIGINT, lambda number, frame: sys.exit(0))
pathlib.Path(sys.argv[1]).touch()
time.sleep(100)
"""


@pytest.mark.parametrize(
    ("number", "manner"),
    [(signal.SIGINT, "plain"), (signal.SIGINT, "deaf"), (signal.SIGTERM, "plain")],
    ids=["ctrl-c", "ctrl-c-taken-for-an-end", "sigterm"],
)
def test_an_interrupted_command_is_an_interrupted_bench_and_no_other_is_started(
    number: signal.Signals, manner: str, tmp_path: Path
) -> None:
    ready = tmp_path / "ready"
    command = [sys.executable, "-P", "-m", "fakeprovider_bench", "runaway", "--cap", "8,20", "--"]
    with subprocess.Popen(
        [*command, sys.executable, "-c", HELD, str(ready), manner],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        while not ready.exists():
            assert child.poll() is None
            time.sleep(0.02)
        ready.unlink()
        child.send_signal(number)
        output, errors = child.communicate(timeout=30)
    assert child.returncode == 128 + number
    assert errors.splitlines()[-1] == "interrupted"
    assert "made no request" not in errors
    assert output == ""
    assert not ready.exists()
    assert not _running(str(ready))


def _running(word: str) -> list[str]:
    """The ids of processes that have `word` in their command line."""
    ids = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended meanwhile
            if word.encode() in path.read_bytes():
                ids.append(path.parent.name)
    return ids
