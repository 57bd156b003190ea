"""What each command of the bench needs beside its own file: a row in the README, and a test."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from fakeprovider_bench import commands
from fakeprovider_bench.cli import cli
from fakeprovider_bench.options import COMMANDS

TESTS = Path(__file__).parent
README = TESTS.parents[1] / "README.md"
NEW = '''"""What somebody has just added."""

from fakeprovider_bench.options import Options, bench_command


@bench_command()
def brand_new(options: Options) -> None:
    """What somebody has just added, and nothing else."""
'''


def lacking() -> list[str]:
    """What each command lacks."""
    rows = README.read_text()
    files = set(TESTS.glob("test_*.py")) - {Path(__file__)}
    tests = "".join(file.read_text() for file in files)
    lacks = []
    for name in cli.list_commands(click.Context(cli)):
        if f"| `bench {name}` | " not in rows:
            lacks.append(f"{name}: its row in the README's table of commands")
        if f'"{name}"' not in tests:
            lacks.append(f"{name}: a test that calls it")
    return lacks


@pytest.fixture
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A command whose file stands beside the others, and nothing else."""
    (tmp_path / "brand_new.py").write_text(NEW)
    monkeypatch.setattr(commands, "__path__", [*commands.__path__, str(tmp_path)])
    yield "brand_new"
    COMMANDS.remove("brand_new")
    del sys.modules[f"{commands.__name__}.brand_new"]


def test_every_command_has_its_row_and_its_test() -> None:
    assert lacking() == []


def test_a_new_command_is_told_by_name_what_it_lacks(added: str) -> None:
    assert cli.get_command(click.Context(cli), added) is COMMANDS[added]
    assert lacking() == [
        f"{added}: its row in the README's table of commands",
        f"{added}: a test that calls it",
    ]


def test_a_new_command_is_in_the_help_and_takes_the_shared_options(added: str) -> None:
    assert f"{added}    What somebody has just added." in CliRunner().invoke(cli, ["-h"]).output
    result = CliRunner().invoke(cli, [added, "--price-in", "much"])
    assert "'much' is not an amount in USD" in result.output
