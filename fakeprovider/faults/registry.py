"""All faults by name, and a fault as it is asked for: by whom, with what, on which turns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain
from types import MappingProxyType
from typing import Any

from fakeprovider.faults import (
    arguments,
    calls,
    connection,
    content,
    ends,
    framing,
    order,
    status,
    usage,
)
from fakeprovider.faults.kind import BadFault, Kind, Values

_MODULES = (status, connection, ends, framing, calls, order, usage, content, arguments)

FAULTS: Mapping[str, Kind] = MappingProxyType(
    {kind.name: kind for kind in chain(*(module.KINDS for module in _MODULES), usage.COUNT_KINDS)}
)
"""Every fault there is."""

_TURNS = re.compile(r"(\d{1,9})(-(\d{1,9})?)?")


@dataclass(frozen=True, slots=True)
class Turns:
    """A range of turns, counted from 0; `last` None is open."""

    first: int = 0
    last: int | None = None

    def __contains__(self, turn: int) -> bool:
        return self.first <= turn and (self.last is None or turn <= self.last)


@dataclass(frozen=True, slots=True)
class Plan:
    """A fault as it is asked for.

    It strikes on `turns`, the first `times` attempts of each (None: all of them).
    """

    kind: Kind
    values: Values
    turns: Turns = Turns()
    times: int | None = None

    def strikes(self, turn: int, attempt: int) -> bool:
        """Whether it is this turn's and this attempt's; attempts are counted from 0."""
        return turn in self.turns and (self.times is None or attempt < self.times)


def find(name: str) -> Kind:
    """The fault of that name; raises `BadFault`."""
    if name in FAULTS:
        return FAULTS[name]
    near = get_close_matches(name, FAULTS, n=3)
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    raise BadFault(f"unknown fault {name!r}; {hint}`fakeprovider faults` lists them")


def plan(name: str, given: Mapping[str, Any] | None = None) -> Plan:
    """A fault with its parameters, and with `turn` and `times`; raises `BadFault`.

    `turn` is a number, or a range such as `2-5` or `3-`.
    """
    kind = find(name)
    own = dict(given or {})
    turn, times = own.pop("turn", None), own.pop("times", None)
    return Plan(kind, kind.values(own), _turns(turn), _times(times))


def _turns(told: Any) -> Turns:
    if told is None:
        return Turns()
    found = _TURNS.fullmatch(str(told))
    if found is None or isinstance(told, bool):
        raise BadFault(f"turn={told!r}: must be a turn from 0 on, or a range such as 2-5 or 3-")
    first = int(found[1])
    if found[2] is None:
        return Turns(first, first)
    last = int(found[3]) if found[3] else None
    if last is not None and last < first:
        raise BadFault(f"turn={told!r}: the range ends before it begins")
    return Turns(first, last)


def _times(told: Any) -> int | None:
    if told is None:
        return None
    if isinstance(told, bool) or not str(told).isdecimal() or not 1 <= int(told) < 10**9:
        raise BadFault(f"times={told!r}: must be a whole number, 1 or more")
    return int(told)
