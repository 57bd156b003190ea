"""Agents that have never heard of us, under `fakeprovider exec`: Node, and a shell with curl."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fakeprovider.scripts.steady import PLAN_ANSWER

UNAWARE = Path(__file__).parent / "unaware"
PACKAGE = "openai@6.49.0"
EXEC = [sys.executable, "-m", "fakeprovider", "exec"]
INSTALL_SECONDS = 300


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The Node agent beside its package, from npm."""
    home = tmp_path_factory.mktemp("node")
    program, npm = shutil.which("node"), shutil.which("npm")
    if program is None or npm is None:
        pytest.skip("CANNOT BE INSTALLED here: there is no node and npm")
    shutil.copy(UNAWARE / "agent.mjs", home)
    done = subprocess.run(
        [npm, "install", "--no-audit", "--no-fund", "--no-save", PACKAGE],
        cwd=home,
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"CANNOT BE INSTALLED here: {done.stderr.strip()[-300:]}")
    return [program, str(home / "agent.mjs")]


@pytest.fixture(scope="module")
def shell() -> list[str]:
    """The shell agent."""
    if shutil.which("curl") is None:
        pytest.skip("CANNOT BE RUN here: there is no curl")
    return ["sh", str(UNAWARE / "agent.sh")]


@pytest.fixture(params=["node", "shell"])
def agent(request: pytest.FixtureRequest) -> list[str]:
    command: list[str] = request.getfixturevalue(request.param)
    return command


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Where the agents look around."""
    (tmp_path / "errors.log").write_text("ERROR timeout: worker 7 timed out after 30000 ms\n")
    (tmp_path / "notes.txt").write_text('Remember "the" logs.\n')
    return tmp_path


def execute(
    options: Sequence[str], command: Sequence[str], cwd: Path
) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    """What the command did, and the summary."""
    done = subprocess.run(
        [*EXEC, "--json", *options, "--", *command],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    *_, last = done.stdout.splitlines()
    summary: dict[str, Any] = json.loads(last)
    return done, summary


def test_an_unaware_agent_runs_the_plan_to_its_end(agent: list[str], workspace: Path) -> None:
    options = ["--script", "plan", "--no-violations", "--expect-turns", "3", "--fail-on", "any"]
    done, summary = execute(options, agent, workspace)
    assert done.returncode == 0, done.stderr
    assert PLAN_ANSWER in done.stdout
    assert (summary["requests"], summary["turns"], summary["retries"]) == (3, 3, 0)


def test_an_agent_without_a_limit_is_stopped_and_the_gate_fails(
    agent: list[str], workspace: Path
) -> None:
    options = ["--script", "runaway", "--max-requests", "30", "--grace", "1"]
    done, summary = execute(options, agent, workspace)
    assert done.returncode == 3
    assert summary["turns"] == 30
    assert summary["failed_gates"] == ["more than 30 requests (--max-requests)"]
    assert summary["retries"] == 0  # the refusal was not tried again


def test_sdk_retries_after_a_rate_limit_are_counted(node: list[str], workspace: Path) -> None:
    fault = "rate_limited,turn=1,times=2,retry_after=0.2"
    done, summary = execute(["--script", "plan", "--fault", fault], node, workspace)
    assert done.returncode == 0, done.stderr
    assert (summary["turns"], summary["retries"], summary["errors"]) == (3, 2, 2)


def test_twenty_real_execs_at_once(shell: list[str], workspace: Path) -> None:
    word = f"twenty-{os.getpid()}-{time.monotonic_ns()}"
    command = [*EXEC, "--json", "--script", "plan", "--expect-turns", "3", "--", *shell, word]
    running = [
        subprocess.Popen(
            command, cwd=workspace, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(20)
    ]
    told = [process.communicate(timeout=300) for process in running]
    assert [process.returncode for process in running] == [0] * 20, told
    summaries = [json.loads(out.splitlines()[-1]) for out, _ in told]
    assert len({one["run"] for one in summaries}) == 20
    assert [one["retries"] for one in summaries] == [0] * 20
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert [line for line in listed.stdout.splitlines() if word in line] == []
