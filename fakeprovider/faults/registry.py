"""Every fault there is: how one is registered, found by name, and listed in the documentation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from difflib import get_close_matches
from itertools import groupby
from typing import Any, Literal, TypeAlias, TypeVar

from fakeprovider.faults.kind import BadFault, Kind, Param
from fakeprovider.protocols.dialect import DIALECTS, Shape
from fakeprovider.registry import Registry

Hook: TypeAlias = Literal["error", "reply", "whole", "stream", "steps", "count"]
F = TypeVar("F", bound=Callable[..., Any])

_MODULES = (
    "status",
    "connection",
    "ends",
    "framing",
    "calls",
    "order",
    "usage",
    "content",
    "arguments",
    "counting",
)

FAULTS: Registry[Kind] = Registry(
    "fault", tuple(f"fakeprovider.faults.{module}" for module in _MODULES)
)
"""Every fault by name."""

ALL_SHAPES: frozenset[Shape] = frozenset({"choices", "blocks", "items"})


def fault(
    name: str, *, hook: Hook, shapes: frozenset[Shape] = ALL_SHAPES, **facts: Any
) -> Callable[[F], F]:
    """Register a fault; the decorated function is its `hook`.

    It strikes the dialects whose replies have one of the `shapes`. `facts` are the other fields of
    `Kind`, further hooks among them: functions that stand above the decorated one.
    """

    def register(function: F) -> F:
        struck = (dialect.name for dialect in DIALECTS.values() if dialect.shape in shapes)
        facts[hook] = function
        FAULTS.add(name, Kind(name=name, dialects=frozenset(struck), **facts))
        return function

    return register


def find(name: str) -> Kind:
    """The fault of that name; raises `BadFault`."""
    if name in FAULTS:
        return FAULTS[name]
    near = get_close_matches(name, FAULTS, n=3)
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    raise BadFault(f"unknown fault {name!r}; {hint}`fakeprovider faults` lists them")


PAGE = "docs/faults.md"
LIST, SDKS = "list of faults", "official SDKs"
"""Parts of the page that are generated; each stands between two comments."""


def listing() -> str:
    """Every fault with its line, parameters, dialects and source, group by group."""
    return "\n\n".join(_groups())


def _groups() -> Iterator[str]:
    """The table of each group."""
    for group, kinds in groupby(FAULTS.values(), key=lambda kind: kind.group):
        rows = "\n".join(map(row, kinds))
        head = "| fault | what happens | parameters | where | seen in |\n|---|---|---|---|---|"
        yield f"### {group}\n\n{head}\n{rows}"


def row(kind: Kind) -> str:
    """The fault's row on the page."""
    params = ", ".join(map(_param, kind.params)) or "-"
    return f"| `{kind.name}` | {kind.line} | {params} | {_where(kind)} | {kind.source} |"


def _param(param: Param) -> str:
    choices = f" ({', '.join(param.choices)})" if param.choices else ""
    return f"`{param.name}={param.default}`{choices}"


def _where(kind: Kind) -> str:
    """Which replies the fault strikes."""
    everywhere = len(kind.dialects) == len(DIALECTS)
    dialects = "all" if everywhere else ", ".join(sorted(kind.dialects))
    streams = " streams" if kind.forms == {"stream"} else ""
    needs = f", needs {kind.needs}" if kind.needs else ""
    chaos = ", in chaos" if kind.chaos else ""
    return f"{dialects}{streams}{needs}{chaos}"


def replaced(page: str, part: str, text: str) -> str:
    """The page with one generated part replaced; raises `ValueError` where it has no such part."""
    begin, end = f"<!-- {part} -->\n", f"\n<!-- end of {part} -->"
    before, opening, rest = page.partition(begin)
    _, closing, after = rest.partition(end)
    if not (opening and closing):
        raise ValueError(f"the page has no part between {begin.strip()} and {end.strip()}")
    return f"{before}{begin}{text}{end}{after}"
