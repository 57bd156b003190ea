"""Prints a report in the form that was asked for: one line per row, or one per pair of rows."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import TYPE_CHECKING

from fakeprovider_bench.output.tables import (
    HEADERS,
    NUMERIC,
    cells,
    cost,
    footnotes,
    headers_of,
    summary,
    to_csv,
    to_json,
    to_markdown,
    usd,
)
from fakeprovider_bench.report import Form, Report, Row
from fakeprovider_harness.outcomes import STATUS_OF

if TYPE_CHECKING:
    from fakeprovider_bench.output.grid import Grid

NUMBERS = frozenset(map(HEADERS.index, NUMERIC))
STATUS = HEADERS.index("status")
IMPLIED = frozenset((str(kind), str(status)) for kind, status in STATUS_OF.items())

PAIR_HEADERS = (
    "condition",
    "must stop",
    "turns",
    "cost",
    "over",
    "ended by",
    "must spare",
    "turns",
    "ended by",
    "verdict",
)
PAIR_NUMBERS = frozenset({2, 3, 4, 7})


def render(report: Report, form: Form, *, header: bool = True) -> None:
    """Write the report to standard output; `header` False leaves out the first line of CSV."""
    if form == "json":
        sys.stdout.write(to_json(report) + "\n")
    elif form == "csv":
        sys.stdout.write(to_csv(report, header=header))
    elif form == "markdown":
        sys.stdout.write(to_markdown(report))
    else:
        answers = [f"{row.policy}: “{row.answer}”" for row in report.rows if row.answer]
        _print(grid_of(report), [*summary(report), *answers])


def render_pairs(report: Report, form: Form) -> None:
    """As `render`, with one line for each two rows: what was stopped, what was spared."""
    if form in ("json", "csv"):
        render(report, form)
        return
    lines = [_pair_cells(*pair) for pair in _pairs(report)]
    notes = [*footnotes(report), *report.notes]
    if form == "markdown":
        sys.stdout.write(_pair_markdown(lines, notes))
    else:
        _print(_pair_grid(report, lines), notes)


def _print(grid: Grid, notes: Iterable[str]) -> None:
    from fakeprovider_bench.output.grid import console, show_grid  # late: only a table needs rich

    out = console()
    show_grid(grid, out)
    for note in notes:
        out.print(note, markup=False)


def grid_of(report: Report) -> Grid:
    """The rows as a grid, which leaves the status out first where the stop says it all."""
    from fakeprovider_bench.output.grid import Grid  # late: only a table needs rich

    implied = all((row.stop and row.stop.kind, row.status) in IMPLIED for row in report.rows)
    return Grid(
        title=f"{report.scenario} · {report.harness}",
        headers=headers_of(report),
        lines=[cells(row, report) for row in report.rows],
        numbers=NUMBERS,
        implied=frozenset({STATUS}) if implied else frozenset(),
    )


def _pair_grid(report: Report, lines: list[tuple[str, ...]]) -> Grid:
    from fakeprovider_bench.output.grid import Grid  # late: only a table needs rich

    return Grid(f"{report.scenario} · {report.harness}", PAIR_HEADERS, lines, PAIR_NUMBERS)


def _pairs(report: Report) -> Iterator[tuple[Row, Row]]:
    rows = iter(report.rows)
    return zip(rows, rows, strict=True)


def _pair_cells(stopped: Row, spared: Row) -> tuple[str, ...]:
    verdicts = {stopped.extra["verdict"], spared.extra["verdict"]}
    return (
        stopped.policy,
        stopped.extra["scenario"],
        str(stopped.turns),
        cost(stopped),
        _over(stopped),
        _kind(stopped),
        spared.extra["scenario"],
        str(spared.turns),
        _kind(spared),
        "ok" if verdicts == {"ok"} else "WRONG",
    )


def _kind(row: Row) -> str:
    return "-" if row.stop is None else row.stop.kind


def _over(row: Row) -> str:
    """How far past its limit the condition stopped the run; seconds to the millisecond."""
    over = None if row.stop is None else row.stop.overshoot
    if isinstance(over, float):
        return f"{over:.3f} s"
    if isinstance(over, Decimal):
        return usd(over)
    return "-" if over is None else f"{over:,}"


def _pair_markdown(lines: list[tuple[str, ...]], notes: list[str]) -> str:
    rule = ["---:" if place in PAIR_NUMBERS else "---" for place in range(len(PAIR_HEADERS))]
    table = [PAIR_HEADERS, rule, *lines]
    return "\n".join([*("| " + " | ".join(line) + " |" for line in table), "", *notes]) + "\n"
