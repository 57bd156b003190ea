"""Rows at any width: a table where one fits, else one block per row; nothing is ever cut."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

NOTHING = "-"  # the cell that says nothing
INDENT = "  "
BETWEEN = " · "
PIPED = 200  # columns where standard output is no terminal


@dataclass(frozen=True)
class Grid:
    """What is to be shown: a title, headers, and a line of as many cells for each row.

    `numbers` are the places of columns that are right-justified and never folded; `implied` those
    that say nothing that another column does not, and are left out first; `height` is how many
    lines a row may take before a block is easier to read.
    """

    title: str
    headers: Sequence[str]
    lines: Sequence[Sequence[str]]
    numbers: frozenset[int] = frozenset()
    implied: frozenset[int] = frozenset()
    height: int = 3

    def column(self, place: int) -> list[str]:
        """All cells of one column, the header first."""
        return [self.headers[place], *(line[place] for line in self.lines)]

    def without_implied(self) -> Grid:
        """The same without the columns that the others imply."""
        kept = [place for place in range(len(self.headers)) if place not in self.implied]
        return replace(
            self,
            headers=[self.headers[place] for place in kept],
            lines=[[line[place] for place in kept] for line in self.lines],
            numbers=frozenset(new for new, old in enumerate(kept) if old in self.numbers),
            implied=frozenset(),
        )


def console() -> Console:
    """Standard output; where it is no terminal, wide enough for any table."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else PIPED)


def show_grid(grid: Grid, out: Console) -> None:
    """Print the grid in the roomiest form in which every cell is whole at the width of `out`."""
    grid = replace(grid, lines=[[" ".join(cell.split()) for cell in line] for line in grid.lines])
    natural = _natural(grid)
    if sum(natural) + 2 * len(natural) + 1 <= out.width:
        out.print(_table(grid, natural, roomy=True))
        return
    for height in (1, grid.height):
        for narrower in (grid, grid.without_implied()):
            widths = fold(narrower, height, out)
            if widths is not None:
                out.print(_table(narrower, widths, roomy=False), "")
                return
    _print_blocks(grid, out)


def _print_blocks(grid: Grid, out: Console) -> None:
    out.print(Text(grid.title, style="italic"))
    for line in grid.lines:
        out.print(Text(line[0], style="bold"))
        for text in _block(grid.headers[1:], line[1:], out.width):
            out.print(text, markup=False)
    out.print("")


def fold(grid: Grid, height: int, out: Console) -> list[int] | None:
    """Widths at which cells fold between words only, into `height` lines; None: there are none."""
    natural, widths = _natural(grid), [_least(grid, place) for place in range(len(grid.headers))]
    spare = out.width - sum(widths) - (len(widths) - 1)
    if spare < 0:
        return None
    for _ in range(min(spare, sum(natural) - sum(widths))):
        neediest = max(range(len(widths)), key=lambda place: natural[place] / widths[place])
        widths[neediest] += 1
    folded = [
        len(Text(cell).wrap(out, width))
        for line in grid.lines
        for cell, width in zip(line, widths, strict=True)
    ]
    return widths if max(folded, default=0) <= height else None


def _natural(grid: Grid) -> list[int]:
    """The width of each column with nothing folded."""
    return [max(map(cell_len, grid.column(place))) for place in range(len(grid.headers))]


def _least(grid: Grid, place: int) -> int:
    """The longest piece of a column that may not be folded."""
    header, *cells = grid.column(place)
    pieces = [*header.split(), *(cells if place in grid.numbers else _words(cells))]
    return max(map(cell_len, pieces), default=1)


def _words(cells: Sequence[str]) -> Iterator[str]:
    for cell in cells:
        yield from cell.split()


def _table(grid: Grid, widths: Sequence[int], *, roomy: bool) -> Table:
    table = Table(
        title=grid.title,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1 if roomy else 0, 0, 0),
        show_edge=roomy,
    )
    for place, (header, width) in enumerate(zip(grid.headers, widths, strict=True)):
        table.add_column(
            Text(header),
            justify="right" if place in grid.numbers else "left",
            width=width,
            overflow="fold",
        )
    for line in grid.lines:
        table.add_row(*map(Text, line))
    return table


def _block(names: Sequence[str], cells: Sequence[str], width: int) -> Iterator[str]:
    """`name value · name value`, in lines that break between pairs where a pair fits."""
    pairs = [f"{name} {cell}" for name, cell in zip(names, cells, strict=True) if cell != NOTHING]
    line = ""
    for pair in pairs:
        longer = f"{line}{BETWEEN}{pair}" if line else INDENT + pair
        if line and cell_len(longer) > width:
            yield from _wrapped(line, width)
            longer = INDENT + pair
        line = longer
    yield from _wrapped(line, width)


def _wrapped(line: str, width: int) -> list[str]:
    return textwrap.wrap(
        line, width, subsequent_indent=INDENT * 2, drop_whitespace=True, break_on_hyphens=False
    )
