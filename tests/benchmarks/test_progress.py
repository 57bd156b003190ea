"""A person at a terminal is never left without a word; a pipe and a machine get none."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

BENCH = [sys.executable, "-P", "-m", "fakeprovider_bench"]
SLOW = [sys.executable, "-c", "import time; time.sleep(100)"]


@contextmanager
def at_a_terminal(*args: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """The command with standard error on a terminal, and our end of it; ended at last."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    with subprocess.Popen(
        [*BENCH, *args], stdout=subprocess.DEVNULL, stderr=theirs, env=environment
    ) as child:
        os.close(theirs)
        try:
            yield child, ours
        finally:
            child.send_signal(signal.SIGTERM)
            drained(ours)
            os.close(ours)


def drained(terminal: int, until: str | None = None) -> str:
    """What is written to the terminal, up to where a pattern is found or to the end."""
    text = ""
    while until is None or not re.search(until, text):
        try:
            text += os.read(terminal, 4096).decode(errors="replace")
        except OSError:  # how Linux says that nobody has the other end any more
            break
    return text


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (["plan", "--cap", "2,3"], "plan: [12] of 2, cap [23]"),
        (["stop"], r"stop: \d+ of 38, [a-z]+ · [A-Z]\w+\(.*\), turn \d+"),
        (["done"], r"done: \d+ of 10, [a-z]+, [a-z -]+, turn \d+"),
        (["growth"], r"growth: \d of 6, [a-z ]+, turn \d+"),
        (["outer"], r"outer: \d+ of 15, ralph, [a-z ]+, turn \d+"),
        (["budgets"], r"budgets: \d+ of 20, (plain|reserved) \$0.\d+, turn \d+"),
        (["subagent"], r"subagent: \d of 3, (one transcript|sub-agent)"),
        (["resume"], "resume: [12] of 2, the run (that is killed|resumed)"),
        (["cancel"], "cancel: 1 of 3, uncancelled, turn 1, scan_archive"),
        (["all"], r"runaway: \d of 4, cap \d+"),
        (["runaway", "--cap", "8", "--", *SLOW], "runaway: 1 of 1, cut at 8 requests"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_the_line_names_the_row_that_is_run_and_counts(args: list[str], line: str) -> None:
    with at_a_terminal(*args) as (_, terminal):
        assert re.search(line, drained(terminal, line))


def test_the_time_ticks_while_a_reply_is_waited_for() -> None:
    with at_a_terminal("latency", "--latency", "2500") as (_, terminal):
        text = drained(terminal, "2500 ms, turn 1")
    waiting = re.findall(r"(\d:\d\d:\d\d)\S* latency: 1 of 1, 2500 ms\r", text)
    assert len(set(waiting)) >= 2


def test_nothing_is_left_on_the_terminal_but_the_error() -> None:
    with at_a_terminal("plan", "--fail-over-turns", "1") as (child, terminal):
        text = drained(terminal)
        assert child.wait() == 1
    assert text.splitlines()[-1].endswith("Error: plan, cap 20: 3 turns, over 1")


def test_output_for_machines_is_silent_at_a_terminal() -> None:
    with at_a_terminal("plan", "--json") as (child, terminal):
        assert drained(terminal) == ""
        assert child.wait() == 0


def test_a_pipe_is_told_nothing() -> None:
    done = subprocess.run([*BENCH, "plan"], capture_output=True, timeout=60, check=True)
    assert done.stderr == b""
