"""A table is whole at any width: on a narrow terminal it folds or becomes blocks, never cut."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from fakeprovider_bench.output.grid import Grid, show_grid
from fakeprovider_bench.output.printing import grid_of
from fakeprovider_bench.output.tables import cells
from fakeprovider_bench.report import Report, Row, StopCell

STOP = StopCell("max_cost", Decimal("1.23456789"), Decimal("1"), Decimal("0.23456789"))
LONG = Row(
    policy="budget $1.00, reserved",
    turns=1234,
    tool_runs=1233,
    prompt_tokens=[1_234_567] * 3,
    completion_tokens=[99] * 3,
    input_tokens=123_456_789,
    output_tokens=9_876_543,
    cost_usd=Decimal("1234.567891"),
    status="budget_exceeded",
    stop=STOP,
    extra={"silence without events ms": 20_123, "progress at ms": [501, 1002, 1503, 2004]},
)
REPORT = Report(scenario="runaway", harness="harness", rows=[LONG])


def shown(grid: Grid, width: int) -> str:
    out = io.StringIO()
    show_grid(grid, Console(file=out, width=width, highlight=False))
    return out.getvalue()


@pytest.mark.parametrize("width", [40, 41, 59, 60, 79, 80, 110, 140, 200])
def test_every_figure_of_a_row_is_there_in_one_piece(width: int) -> None:
    text = shown(grid_of(REPORT), width)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    for cell in cells(LONG, REPORT):
        for piece in cell.split():
            assert piece in text or piece == "budget_exceeded"  # which the stop says as well


@given(
    st.lists(st.tuples(*[st.text("abc 123,.$", max_size=20)] * 4), min_size=1, max_size=4),
    st.integers(40, 130),
)
def test_no_width_loses_a_character(lines: list[tuple[str, ...]], width: int) -> None:
    grid = Grid("title", ("a", "two words", "third", "d"), lines, numbers=frozenset({1}))
    text = shown(grid, width)
    assert "…" not in text
    for line in lines:
        for piece in " ".join(line).split():
            assert piece in text


def test_a_status_that_the_stop_does_not_imply_is_never_left_out() -> None:
    row = Row(
        policy="ralph, falsely claims",
        turns=9,
        tool_runs=8,
        prompt_tokens=[1],
        completion_tokens=[1],
        input_tokens=1,
        output_tokens=1,
        cost_usd=None,
        status="not done",
        stop=StopCell("no_progress"),
    )
    report = Report(scenario="outer", harness="harness", rows=[row])
    for width in range(40, 130, 5):
        assert "not" in shown(grid_of(report), width)


def test_a_terminal_of_80_columns_has_a_table_and_one_of_60_has_blocks() -> None:
    wide, narrow = _on_terminal(80), _on_terminal(60)
    assert "turns tools input output" in " ".join(wide.split())
    assert "cap 50 50 49 88,649 1,150 $0.191098" in " ".join(wide.split())
    assert "  turns 50 · tools 49 · input 88,649 · output 1,150" in narrow
    assert "…" not in wide + narrow


def _on_terminal(columns: int) -> str:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    command = [sys.executable, "-P", "-m", "fakeprovider_bench", "runaway", "--cap", "50"]
    with subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env={**environment, "TERM": "xterm"},
    ) as child:
        os.close(theirs)
        text = _read_all(ours)
    assert child.returncode == 0
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


def _read_all(descriptor: int) -> str:
    parts = []
    with suppress(OSError):  # Linux says so when the other side has gone
        while part := os.read(descriptor, 65536):
            parts.append(part)
    os.close(descriptor)
    return b"".join(parts).decode()
