"""A project for ralph, and a setup whose clock does not wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from harness_commands import SCRIPTS, Shell

from fakeprovider.server import Server
from fakeprovider_harness import FakeClock, MaxTurns, Price, Tool, tool
from fakeprovider_harness.outer import Setup

PRICE = Price("1", "10", cache_write="1")


@pytest.fixture
def price() -> Price:
    return PRICE


@pytest.fixture
def said() -> list[str]:
    """What the user is told."""
    return []


@pytest.fixture
def setup(said: list[str]) -> Callable[..., Setup]:
    def make(model: Any, **given: Any) -> Setup:
        given.setdefault("clock", FakeClock())
        given.setdefault("stop", MaxTurns(10))
        given.setdefault("price", PRICE)
        return Setup(model=model, say=said.append, **given)

    return make


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    (root / "plan.md").write_text("# Plan\n\n- [ ] one\n- [ ] two\n- [ ] three\n")
    return root


@pytest.fixture
def hands(project: Path) -> list[Tool]:
    """Tools that work on the project: write a file, tick items of the plan."""

    @tool
    def write(path: str, text: str) -> str:
        """Write a file."""
        (project / path).write_text(text)
        return "written"

    @tool
    def tick(items: list[str]) -> str:
        """Tick items."""
        plan = project / "plan.md"
        text = plan.read_text()
        for item in items:
            text = text.replace(f"- [ ] {item}", f"- [x] {item}")
        plan.write_text(text)
        return "ticked"

    return [write, tick]


@pytest.fixture(scope="session")
def command_server() -> Iterator[Server]:
    """The provider that the commands of the harness are pointed at."""
    with Server("plan", scripts=SCRIPTS) as server:
        yield server


@pytest.fixture
def shell(command_server: Server, tmp_path: Path) -> Shell:
    return Shell(command_server, tmp_path)
