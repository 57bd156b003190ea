"""The GitHub Action: its shell, run here as a runner would run it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]


def test_it_is_a_composite_action_whose_inputs_are_described_and_used() -> None:
    assert ACTION["runs"]["using"] == "composite"
    used = set(re.findall(r"\$\{\{ inputs\.([a-z-]+) \}\}", (ROOT / "action.yml").read_text()))
    assert used == set(ACTION["inputs"])
    assert all(one["description"].endswith((".", ")")) for one in ACTION["inputs"].values())


def test_inputs_reach_the_shell_as_variables_and_never_as_code() -> None:
    for step in STEPS:
        assert "${{" not in step.get("run", "")


def runner(tmp_path: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """The last step as GitHub runs it, the installation standing for the one before."""
    fake = tmp_path / "fakeprovider" / "bin"
    fake.mkdir(parents=True)
    program = fake / "fakeprovider"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m fakeprovider "$@"\n')
    program.chmod(0o755)
    step = STEPS[-1]
    given = {}
    for variable, expression in step["env"].items():
        name = re.fullmatch(r"\$\{\{ inputs\.([a-z-]+) \}\}", expression)
        assert name is not None
        given[variable] = inputs.get(name[1], ACTION["inputs"][name[1]].get("default", ""))
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        env={**os.environ, "RUNNER_TEMP": str(tmp_path), **given},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_command_runs_and_its_status_is_the_steps(tmp_path: Path) -> None:
    command = "echo $LLM_BASE_URL; false | true; exit 5"
    done = runner(tmp_path, script="plan", command=command, **{"expect-turns": "0"})
    assert done.returncode == 1  # pipefail, as GitHub's own bash
    assert re.match(r"http://127\.0\.0\.1:\d+/~run-\w+/plan/v1", done.stdout)


def test_every_input_becomes_an_option(tmp_path: Path) -> None:
    inputs = {
        "script": "runaway",
        "command": "true",
        "scripts": str(ROOT / "docs" / "scripts"),
        "client": "codex",
        "max-requests": "30",
        "max-tokens": "1000",
        "expect-turns": "1-3",
        "no-violations": "true",
        "allow-script-errors": "true",
        "fail-on": "ends pairing cap unapproved",
        "cap": "9",
        "effects": str(tmp_path / "effects.jsonl"),
        "faults": "rate_limited,turn=1,times=2 stall",
        "timeout": "60",
        "journal": str(tmp_path / "journal.jsonl"),
    }
    assert set(inputs) == {*ACTION["inputs"]} - {"python-version"}
    done = runner(tmp_path, **inputs)
    assert done.returncode == 3, done.stderr
    assert "GATE FAILED: 0 turns, expected 1 to 3 (--expect-turns)" in done.stderr
    assert (tmp_path / "journal.jsonl").exists()
