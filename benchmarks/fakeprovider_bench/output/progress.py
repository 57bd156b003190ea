"""One line on a terminal that says which row is being run, and ticks while nothing else moves."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Column

from fakeprovider_harness import Trace
from fakeprovider_harness.trace import Event, ToolStart, TurnEvent

T = TypeVar("T")


class Line:
    """`stop: 7 of 38, cycle · RepeatedCalls(), turn 5`: rows and turns, as they begin."""

    def __init__(self, title: str, shown: Progress) -> None:
        self._title, self._shown = title, shown
        self._task: TaskID = shown.add_task(f"{title}: starting", total=None)
        self._row = self._turn = ""

    def each(self, rows: Sequence[T], name: Callable[[T], str]) -> Iterator[T]:
        """The rows one by one, each shown by its name and place while the caller runs it."""
        for place, row in enumerate(rows, 1):
            self._row = self._turn = f"{self._title}: {place} of {len(rows)}, {name(row)}"
            self._say(self._row)
            yield row

    def hearing(self, onward: Trace | None) -> Trace:
        """A trace that shows each turn and tool, and passes every event on."""

        def hear(event: Event) -> None:
            if onward is not None:
                onward(event)
            if isinstance(event, TurnEvent):
                self._turn = f"{self._row}, turn {event.turn}"
                self._say(self._turn)
            elif isinstance(event, ToolStart):
                self._say(f"{self._turn}, {event.tool}")

        return hear

    def _say(self, text: str) -> None:
        self._shown.update(self._task, description=text)


@contextmanager
def progress(title: str, *, quiet: bool = False) -> Iterator[Line]:
    """The line for one table, gone when it ends; silent where standard error is no terminal.

    A thread draws it ten times a second, so that it moves while a child process or a model is
    waited for. `quiet` is for output that machines read.
    """
    columns = (
        SpinnerColumn(),
        TimeElapsedColumn(),
        TextColumn(
            "{task.description}",
            markup=False,
            table_column=Column(no_wrap=True, overflow="ellipsis"),
        ),
    )
    silent = quiet or not sys.stderr.isatty()
    console = Console(stderr=True)
    with Progress(
        *columns, console=console, transient=True, redirect_stdout=False, disable=silent
    ) as shown:
        yield Line(title, shown)
