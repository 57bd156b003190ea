"""The command line: what it prints, and how it fails."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from fakeprovider.cli import main
from fakeprovider.server import Server


def run(*arguments: str) -> tuple[int, str]:
    """Exit status, and what a person sees."""
    result = CliRunner().invoke(main, arguments)
    return result.exit_code, result.output


def test_list_names_each_script_with_a_sentence() -> None:
    """For a person and as JSON."""
    status, text = run("list")
    assert status == 0
    lines = dict(line.split(maxsplit=1) for line in text.splitlines())
    assert lines["plan"] == "Lists the files, reads errors.log, answers."
    rows = json.loads(run("list", "--json")[1])["scripts"]
    assert {row["name"]: row["description"] for row in rows} == lines


def test_a_port_in_use(server: Server) -> None:
    """One line that says what to do; no traceback."""
    status, text = run("serve", "--port", str(server.port))
    assert status == 1
    assert text.startswith(f"Error: cannot listen on 127.0.0.1:{server.port}: ")
    assert text.endswith("choose another --port (0 takes a free one)\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["serve", "--script", "plam"], "no script named 'plam'; there are: "),
        (["serve", "--port", "70000"], "70000 is not in the range 0<=x<=65535"),
        (["serve", "--journal", "/no/such/folder/j", "--port", "0"], "/no/such/folder/j"),
        (["serve", "--host", "no.such.host.invalid", "--port", "0"], "cannot listen on no.such"),
        (["swerve"], "No such command 'swerve'"),
    ],
)
def test_mistakes_are_clean_messages(arguments: list[str], words: str) -> None:
    """What is wrong, and a status that is not 0."""
    status, text = run(*arguments)
    assert status in (1, 2)
    assert words in text
    assert "Traceback" not in text


@pytest.mark.parametrize("name", sorted(main.commands))
def test_each_command_explains_itself(name: str) -> None:
    """With help for the command and for every option."""
    status, text = run(name, "--help")
    command = main.commands[name]
    assert status == 0
    assert command.help
    options = [option for option in command.params if isinstance(option, click.Option)]
    assert all(option.help for option in options)
    assert text.startswith("Usage: ")


def test_folders_of_the_user_with_our_names_are_not_in_the_way(tmp_path: Path) -> None:
    """A `benchmarks/`, `scenarios/` or `harness/` of the user's own is not imported."""
    for name in ("benchmarks", "scenarios", "harness"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise RuntimeError('not yours')\n")
    command = [sys.executable, "-m", "fakeprovider", "list"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "plan" in ran.stdout
