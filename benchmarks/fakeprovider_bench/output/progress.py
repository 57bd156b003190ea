"""One line on a terminal that says which row is being run, and ticks while nothing else moves."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from fakeprovider_harness import Trace
from fakeprovider_harness.trace import Event, ToolStart, TurnEvent

T = TypeVar("T")


class Line:
    """`stop: 7 of 38, cycle · RepeatedCalls(), turn 5`: rows and turns, as they begin."""

    def __init__(self, title: str, write: Callable[[str], None]) -> None:
        self._title, self._write = title, write
        self._row = self._turn = ""
        write(f"{title}: starting")

    def each(self, rows: Sequence[T], name: Callable[[T], str]) -> Iterator[T]:
        """The rows one by one, each shown by its name and place while the caller runs it."""
        for place, row in enumerate(rows, 1):
            self._row = self._turn = f"{self._title}: {place} of {len(rows)}, {name(row)}"
            self._write(self._row)
            yield row

    def hearing(self, onward: Trace | None) -> Trace:
        """A trace that shows each turn and tool, and passes every event on."""

        def hear(event: Event) -> None:
            if onward is not None:
                onward(event)
            if isinstance(event, TurnEvent):
                self._turn = f"{self._row}, turn {event.turn}"
                self._write(self._turn)
            elif isinstance(event, ToolStart):
                self._write(f"{self._turn}, {event.tool}")

        return hear


@contextmanager
def progress(title: str, *, quiet: bool = False) -> Iterator[Line]:
    """The line for one table, gone when it ends; silent where standard error is no terminal.

    `quiet` is for output that machines read.
    """
    if quiet or not sys.stderr.isatty():
        yield Line(title, lambda text: None)
        return
    with _drawn() as write:
        yield Line(title, write)


@contextmanager
def _drawn() -> Iterator[Callable[[str], None]]:
    """A line on standard error, and the function that changes its text.

    A thread draws it ten times a second, so that it moves while a child process or a model is
    waited for.
    """
    # late: only a person at a terminal needs rich
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.table import Column

    text = TextColumn(
        "{task.description}",
        markup=False,
        table_column=Column(no_wrap=True, overflow="ellipsis"),
    )
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TimeElapsedColumn(), text)
    with Progress(*columns, console=console, transient=True, redirect_stdout=False) as shown:
        task = shown.add_task("", total=None)
        yield lambda description: shown.update(task, description=description)
