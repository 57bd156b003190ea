"""A report whose rows come in pairs, as one line per pair: what was stopped, what was spared."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from decimal import Decimal

from fakeprovider_bench.output.grid import Grid, show_grid
from fakeprovider_bench.output.tables import console, cost, footnotes, usd
from fakeprovider_bench.report import Report, Row

HEADERS = (
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
NUMBERS = frozenset({2, 3, 4, 7})


def render_pairs(report: Report, form: str) -> None:
    """Print the pairs as a table or as Markdown, then the notes."""
    lines = [_cells(*pair) for pair in _pairs(report)]
    if form == "markdown":
        sys.stdout.write(_markdown(lines, [*footnotes(report), *report.notes]))
    else:
        _print(report, lines)


def _pairs(report: Report) -> Iterator[tuple[Row, Row]]:
    rows = iter(report.rows)
    return zip(rows, rows, strict=True)


def _cells(stopped: Row, spared: Row) -> tuple[str, ...]:
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
    over = None if row.stop is None else row.stop.overshoot
    if isinstance(over, float):
        return f"{over:.3f} s"
    if isinstance(over, Decimal):
        return usd(over)
    return "-" if over is None else f"{over:,}"


def _markdown(lines: list[tuple[str, ...]], notes: list[str]) -> str:
    rule = ["---:" if place in NUMBERS else "---" for place in range(len(HEADERS))]
    table = [HEADERS, rule, *lines]
    return "\n".join([*("| " + " | ".join(line) + " |" for line in table), "", *notes]) + "\n"


def _print(report: Report, lines: list[tuple[str, ...]]) -> None:
    out = console()
    show_grid(Grid(f"{report.scenario} · {report.harness}", HEADERS, lines, NUMBERS), out)
    for note in [*footnotes(report), *report.notes]:
        out.print(note, markup=False)
