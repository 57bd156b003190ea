"""What a script says and can never do: turns that nothing leads to, conditions that cannot hold.

Only what follows from the script alone is told: which place follows which, the number of the turn,
and what conditions say about numbers and about whether there is a result. All else is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeAlias

from fakeprovider.faults import plan
from fakeprovider.yamlscripts.conditions import count_match
from fakeprovider.yamlscripts.nodes import Node, Problems
from fakeprovider.yamlscripts.program import Program
from fakeprovider.yamlscripts.speech import fault

_MOST_STEPS = 200_000  # places looked at; a script with more ways than that is let through
_MOST_SITUATIONS = 10_000  # likewise, of one condition


@dataclass(frozen=True, slots=True)
class Situation:
    """The part of a conversation that conditions are decided by."""

    turn: int
    since_last_user: int
    has_result: bool


Verdict: TypeAlias = bool | None
"""None: it depends on what the script cannot know."""


def check_possible(program: Program, nodes: Sequence[Node], problems: Problems) -> None:
    """Note every turn that is never reached and every case that never holds.

    `nodes` are the turns as they were written, one for each place of the program.
    """
    ways = _ways(program)
    if ways is None:
        return
    numbers: dict[int, list[int]] = {id(node): [] for node in nodes}  # a block's turns come again
    for number, places in enumerate(ways.places):
        for written in {id(nodes[place]) for place in places if place < len(nodes)}:
            numbers[written].append(number)
    for node in {id(node): node for node in nodes}.values():
        if not numbers[id(node)]:
            problems.add(node.line, "this turn is never reached: nothing leads to it")
        else:
            here = _Numbers.of(ways, numbers[id(node)])
            _check_cases(node, here, problems)
            _check_faults(node, here, problems)


def _check_faults(node: Node, numbers: _Numbers, problems: Problems) -> None:
    """Note every fault whose turns are others than those of its reply."""
    for said in (node, *_cases_of(node)):
        if "fault" not in said.fields:
            continue
        asked = fault(said.value["fault"])
        turns = plan(asked.name, asked.params).turns
        if numbers.first(turns.first, None if turns.last is None else turns.last + 1) is None:
            told = f"this fault can never strike: the turn is {numbers} here"
            problems.add(said.fields["fault"].line, told)


def _cases_of(node: Node) -> Sequence[Node]:
    return node.items or (node.fields["cases"].items if "cases" in node.fields else ())


def _check_cases(node: Node, numbers: _Numbers, problems: Problems) -> None:
    cases = _cases_of(node)
    for before, case in zip((None, *cases), cases, strict=False):
        if before is not None and _outcomes(before.value["when"], numbers) == {True}:
            told = f"the one on line {before.line} holds always"
            problems.add(case.line, f"this case is never reached: {told}")
            return
        when = case.value.get("when", "else")
        if when != "else" and _outcomes(when, numbers) == {False}:
            problems.add(case.fields["when"].line, _why(when, numbers))


def _why(when: Mapping[str, Any], numbers: _Numbers) -> str:
    if _outcomes(when, _ANY_NUMBER) == {False}:
        return "this condition can never hold: its parts exclude each other"
    return f"this condition can never hold: the turn is {numbers} here"


def _outcomes(when: Mapping[str, Any], numbers: _Numbers) -> set[Verdict]:
    """What the condition comes to in every situation that there can be."""
    turns = _samples(_mentioned(when, "turn"), numbers)
    since = _samples(_mentioned(when, "since_last_user"), _ANY_NUMBER)
    if len(turns) * len(since) > _MOST_SITUATIONS:
        return {None}
    situations = product(turns, since, (False, True))
    return {_holds(when, Situation(*one)) for one in situations}


def _holds(when: Mapping[str, Any], now: Situation) -> Verdict:
    return _and(_part(name, written, now) for name, written in when.items())


def _part(name: str, written: Any, now: Situation) -> Verdict:
    if name in ("turn", "since_last_user"):
        return count_match(written)(now.turn if name == "turn" else now.since_last_user)
    if name in ("last_result", "any_result"):
        if written in ("any", "none"):
            return now.has_result is (written == "any")
        return None if now.has_result else False
    if name == "all":
        return _and(_holds(one, now) for one in written)
    if name == "any":
        return _not(_and(_not(_holds(one, now)) for one in written))
    return _not(_holds(written, now)) if name == "not" else None


def _and(parts: Iterable[Verdict]) -> Verdict:
    found = set(parts)
    return False if False in found else None if None in found else True


def _not(part: Verdict) -> Verdict:
    return None if part is None else not part


def _mentioned(when: Any, counted: str) -> set[int]:
    """The numbers that a condition compares a count with."""
    if isinstance(when, list):
        return set().union(*(_mentioned(one, counted) for one in when))
    if not isinstance(when, dict):
        return set()
    found: set[int] = set()
    for name, written in when.items():
        if name == counted:
            found |= set(_integers(written))
        elif name in ("all", "any", "not"):
            found |= _mentioned(written, counted)
    return found


def _integers(written: Any) -> Iterator[int]:
    if isinstance(written, int):
        yield written
    elif isinstance(written, list):
        yield from written
    else:
        yield from written.values()


def _samples(mentioned: set[int], numbers: _Numbers) -> list[int]:
    """One number, if there is one, of each stretch in which all comparisons come out alike."""
    edges = sorted({0, *(edge for one in mentioned for edge in (one, one + 1))})
    ends = [*edges[1:], None]
    found = (numbers.first(start, end) for start, end in zip(edges, ends, strict=True))
    return [one for one in found if one is not None]


@dataclass(frozen=True, slots=True)
class _Ways:
    """The places that turn n may be at, for each n; from `repeats` on they come again."""

    places: tuple[frozenset[int], ...]
    repeats: int


def _ways(program: Program) -> _Ways | None:
    """None where that takes too long to find out."""
    end = len(program.turns)
    here, seen = frozenset({0}), dict[frozenset[int], int]()
    steps: list[frozenset[int]] = []
    work = 0
    while here not in seen:
        work += len(here)
        if work > _MOST_STEPS:
            return None
        seen[here] = len(steps)
        steps.append(here)
        here = frozenset(
            after for place in here if place < end for after in program.after_turn(place)
        )
    return _Ways(tuple(steps), seen[here])


@dataclass(frozen=True, slots=True)
class _Numbers:
    """Numbers of turns: `once`, and each of `often` again and again after every `period`."""

    once: tuple[int, ...]
    often: tuple[int, ...] = ()
    period: int = 1

    @classmethod
    def of(cls, ways: _Ways, found: Iterable[int]) -> _Numbers:
        """From those below the length of the ways."""
        once: list[int] = []
        often: list[int] = []
        for one in found:
            (once if one < ways.repeats else often).append(one)
        return cls(tuple(once), tuple(often), len(ways.places) - ways.repeats)

    def first(self, start: int, end: int | None) -> int | None:
        """The first of them from `start` on and before `end`."""
        found = [one for one in self.once if one >= start]
        found += [one + max(0, -((one - start) // self.period)) * self.period for one in self.often]
        least = min(found, default=None)
        return least if least is not None and (end is None or least < end) else None

    def __str__(self) -> str:
        told = [str(one) for one in sorted((*self.once, *self.often))[:5]]
        more = bool(self.often) or len(self.once) > len(told)
        return " or ".join([*told, "..."] if more else told)


_ANY_NUMBER = _Numbers((), (0,))
