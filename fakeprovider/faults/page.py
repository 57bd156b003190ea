"""The page about faults in the documentation: the table of what there is, and where to put more."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from fakeprovider.faults.kind import Kind, Param
from fakeprovider.faults.registry import FAULTS

PAGE = "docs/faults.md"
LIST, SDKS = "list of faults", "official SDKs"
"""Parts of the page that are generated; each stands between two comments."""


def listing() -> str:
    """Every fault with its line, parameters, dialects and source, group by group."""
    return "\n\n".join(_groups())


def _groups() -> Iterator[str]:
    for group, kinds in groupby(FAULTS.values(), key=lambda kind: kind.group):
        rows = "\n".join(map(_row, kinds))
        head = "| fault | what happens | parameters | where | seen in |\n|---|---|---|---|---|"
        yield f"### {group}\n\n{head}\n{rows}"


def _row(kind: Kind) -> str:
    params = ", ".join(map(_param, kind.params)) or "-"
    return f"| `{kind.name}` | {kind.line} | {params} | {_where(kind)} | {kind.source} |"


def _param(param: Param) -> str:
    choices = f" ({', '.join(param.choices)})" if param.choices else ""
    return f"`{param.name}={param.default}`{choices}"


def _where(kind: Kind) -> str:
    dialects = "all" if len(kind.dialects) == 3 else ", ".join(sorted(kind.dialects))
    streams = " streams" if kind.forms == {"stream"} else ""
    needs = f", needs {kind.needs}" if kind.needs else ""
    chaos = ", in chaos" if kind.chaos else ""
    return f"{dialects}{streams}{needs}{chaos}"


def replaced(page: str, part: str, text: str) -> str:
    """The page with one generated part replaced; raises `ValueError` where it has no such part."""
    begin, end = f"<!-- {part} -->\n", f"\n<!-- end of {part} -->"
    before, found, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise ValueError(f"the page has no part between {begin.strip()} and {end.strip()}")
    return f"{before}{begin}{text}{end}{after}"
