"""What a command costs before it does anything: whole processes beside a few imports."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

BIN = Path(sys.executable).parent
CLICK = ("import click", [sys.executable, "-c", "import click"])
TABLES = (
    "import httpx, click, rich.table",
    [sys.executable, "-c", "import httpx, click, rich.table"],
)
PYTEST = ("import pytest", [sys.executable, "-c", "import pytest"])
PLUGIN = [sys.executable, "-c", "import pytest, fakeprovider.pytest_plugin"]

MEASURES: tuple[tuple[str, Sequence[str], tuple[str, Sequence[str]], str], ...] = (
    ("fakeprovider --help", [str(BIN / "fakeprovider"), "--help"], CLICK, "2"),
    ("bench --help", [str(BIN / "bench"), "--help"], CLICK, "2"),
    ("fakeprovider-harness --help", [str(BIN / "fakeprovider-harness"), "--help"], CLICK, "2"),
    ("bench plan --json", [str(BIN / "bench"), "plan", "--json"], TABLES, "4"),
    ("the pytest plugin", PLUGIN, PYTEST, "20 ms more"),
)


@dataclass(frozen=True)
class Start:
    """Median milliseconds of a command and of its yardstick, and the aim for their ratio."""

    command: str
    ms: float
    yardstick: str
    yardstick_ms: float
    aim: str

    @property
    def ratio(self) -> float:
        """How many times the yardstick the command takes."""
        return self.ms / self.yardstick_ms


def measure(rounds: int) -> Iterator[Start]:
    """Each command in turn with its yardstick, so that both meet the same machine."""
    for name, command, (yardstick, beside), aim in MEASURES:
        pairs = [(_ms(command), _ms(beside)) for _ in range(rounds + 1)][1:]  # the first warms up
        ms, beside_ms = (median(times) for times in zip(*pairs, strict=True))
        yield Start(name, ms, yardstick, beside_ms, aim)


def _ms(command: Sequence[str]) -> float:
    """Milliseconds of a whole process; an endpoint in the environment is not asked."""
    environment = {name: value for name, value in os.environ.items() if name != "LLM_BASE_URL"}
    began = perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, env=environment, check=True)
    return (perf_counter() - began) * 1000
