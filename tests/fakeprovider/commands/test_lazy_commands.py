"""What is imported when: commands when they are called, the test kit when a fixture asks for it."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from fakeprovider.cli import main
from fakeprovider.commands.lazy_group import LazyGroup

HEAVY = ("httpx", "jsonschema", "pytest", "sqlite3", "starlette", "tiktoken", "uvicorn", "yaml")


@pytest.mark.parametrize("name", sorted(main.lazy))
def test_the_line_in_the_help_is_what_the_command_says_of_itself(name: str) -> None:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    assert command.name == name
    line = main.lazy[name][1]
    assert command.get_short_help_str(limit=200) == line


def test_the_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom fakeprovider.cli import main\n"
        "main.main(['--help'], standalone_mode=False)\n"
        f"print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stderr.strip() == "[]"
    assert "Answer as an LLM provider that follows a script." in ended.stdout


def test_an_unknown_command_is_a_usage_error() -> None:
    result = CliRunner().invoke(main, ["sevre"])
    assert result.exit_code == 2
    assert "No such command 'sevre'" in result.output


def test_a_group_that_lists_no_commands_has_none() -> None:
    group = LazyGroup("empty")
    assert group.list_commands(click.Context(group)) == []


def test_the_pytest_plugin_imports_no_kit_before_a_fixture_asks_for_it() -> None:
    code = (
        "import sys\nimport fakeprovider.pytest_plugin\n"
        "print([name for name in ('fakeprovider.testing', 'fakeprovider.server', 'httpx', "
        "'uvicorn', 'yaml', 'tiktoken', 'hypothesis') if name in sys.modules])"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[]"
