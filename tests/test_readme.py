"""The README is true: its code runs, and its figures come from the command it names."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, re.DOTALL)
PYTHON = [code for kind, code in BLOCKS if kind == "python" and "def test_" not in code]


def squeezed(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize("code", PYTHON, ids=range(len(PYTHON)))
def test_a_python_block_runs_and_prints_what_its_comment_says(code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    said = re.search(r"print\(state.*?\)  # (.*)", code)
    if said:
        assert done.stdout.strip() == said[1]


def test_the_table_is_what_the_command_prints() -> None:
    (table,) = (code for kind, code in BLOCKS if kind == "text" and code.startswith("runaway"))
    done = subprocess.run(
        [sys.executable, "-P", "-m", "fakeprovider_bench", "runaway", "--cap", "50"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    printed = squeezed(done.stdout)
    for line in squeezed(table):
        if not set(line) <= {"─"}:
            assert line in printed


AGENT = """
import httpx

TOOLS = [{"type": "function", "function": {"name": "list_files"}}]


def my_agent(task, base_url):
    messages = [{"role": "user", "content": task}]
    while True:
        body = {"model": "any", "messages": messages, "tools": TOOLS}
        answer = httpx.post(base_url + "/chat/completions", json=body).json()
        reply = answer["choices"][0]["message"]
        messages.append(reply)
        if not reply.get("tool_calls"):
            return reply["content"]
        for call in reply["tool_calls"]:
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": "[]"})
"""


def test_the_test_in_it_passes_with_an_agent_of_ones_own(tmp_path: Path) -> None:
    (code,) = (code for kind, code in BLOCKS if kind == "python" and "def test_" in code)
    (tmp_path / "test_mine.py").write_text(AGENT + code, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "pytest", "-q", str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_the_script_in_yaml_is_right(tmp_path: Path) -> None:
    (script,) = (code for kind, code in BLOCKS if kind == "yaml")
    path = tmp_path / "guess.yaml"
    path.write_text(script, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "fakeprovider", "check", str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout


def test_the_loop_is_as_long_as_it_says() -> None:
    loop = Path(__file__).parents[1] / "harness" / "fakeprovider_harness" / "loop.py"
    assert f"The loop itself is {len(loop.read_text().splitlines())} lines" in README


def test_both_commands_start_from_a_fresh_clone_on_one_line() -> None:
    commands = [code.strip() for kind, code in BLOCKS if kind == "sh" and "venv &&" in code]
    assert len(commands) == 2
    assert all("\n" not in command for command in commands)
