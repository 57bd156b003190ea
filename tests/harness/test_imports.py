"""What the package loads, and when: help and a plain import load nothing that is heavy."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

import fakeprovider_harness
from fakeprovider_harness import exports
from fakeprovider_harness.commands.cli import COMMANDS, cli

HEAVY = {"asyncio", "httpx", "hypothesis", "jsonschema", "msgspec", "pytest", "sqlite3"}


@pytest.mark.parametrize(
    "program",
    [
        "import fakeprovider_harness",
        "from fakeprovider_harness.commands.cli import cli; cli(['--help'], standalone_mode=False)",
    ],
)
def test_a_plain_import_and_help_load_nothing_heavy(program: str) -> None:
    script = f"import sys; {program}; print(*sys.modules, sep='\\n', file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-P", "-c", script], capture_output=True, text=True, check=True
    )
    assert HEAVY & set(done.stderr.split()) == set()


def test_every_public_name_is_there_and_a_wrong_one_is_not() -> None:
    assert fakeprovider_harness.__all__ == exports.__all__
    for name in exports.__all__:
        assert getattr(fakeprovider_harness, name) is getattr(exports, name)
    with pytest.raises(AttributeError, match="NoSuchThing"):
        fakeprovider_harness.NoSuchThing  # type: ignore[attr-defined]  # noqa: B018


def test_help_lists_each_command_under_its_own_name() -> None:
    context = click.Context(cli)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        assert command.name == name
    assert list(COMMANDS) == sorted(COMMANDS)
    assert cli.get_command(context, "no_such_command") is None
