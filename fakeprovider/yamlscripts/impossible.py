"""What a script says and can never do: turns that nothing leads to, conditions that cannot hold.

Only what follows from the script alone is told: which place follows which, the number of the turn,
and what conditions say about numbers and about whether there is a result. All else is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from fakeprovider.faults import plan
from fakeprovider.yamlscripts.conditions import Situation, Verdict, numbers_compared, verdict
from fakeprovider.yamlscripts.nodes import Node, Problems
from fakeprovider.yamlscripts.program import Program
from fakeprovider.yamlscripts.speech import fault

_MOST_STEPS = 200_000  # places looked at; a script with more ways than that is let through
_MOST_SITUATIONS = 10_000  # likewise, of one condition


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
    for reply in (node, *_cases_of(node)):
        if "fault" not in reply.fields:
            continue
        named = fault(reply.value["fault"])
        turns = plan(named.name, named.params).turns
        if numbers.first(turns.first, None if turns.last is None else turns.last + 1) is None:
            why = f"this fault can never strike: the turn is {numbers} here"
            problems.add(reply.fields["fault"].line, why)


def _cases_of(node: Node) -> Sequence[Node]:
    return node.items or (node.fields["cases"].items if "cases" in node.fields else ())


def _check_cases(node: Node, numbers: _Numbers, problems: Problems) -> None:
    """Note each case that never holds or that is behind one that always does."""
    cases = _cases_of(node)
    for before, case in zip((None, *cases), cases, strict=False):
        if before is not None and _outcomes(before.value["when"], numbers) == {True}:
            why = f"the one on line {before.line} holds always"
            problems.add(case.line, f"this case is never reached: {why}")
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
    turns = _samples(numbers_compared(when, "turn"), numbers)
    since = _samples(numbers_compared(when, "since_last_user"), _ANY_NUMBER)
    if len(turns) * len(since) > _MOST_SITUATIONS:
        return {None}
    situations = product(turns, since, (False, True))
    return {verdict(when, Situation(*situation)) for situation in situations}


def _samples(mentioned: set[int], numbers: _Numbers) -> list[int]:
    """One number, if there is one, of each stretch in which all comparisons come out alike."""
    edges = sorted({0, *(edge for number in mentioned for edge in (number, number + 1))})
    ends = [*edges[1:], None]
    firsts = (numbers.first(start, end) for start, end in zip(edges, ends, strict=True))
    return [number for number in firsts if number is not None]


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
    def of(cls, ways: _Ways, numbers: Iterable[int]) -> _Numbers:
        """From those below the length of the ways."""
        once: list[int] = []
        often: list[int] = []
        for number in numbers:
            (once if number < ways.repeats else often).append(number)
        return cls(tuple(once), tuple(often), len(ways.places) - ways.repeats)

    def first(self, start: int, end: int | None) -> int | None:
        """The first of them from `start` on and before `end`."""
        later = [number for number in self.once if number >= start]
        for number in self.often:
            periods = max(0, -((number - start) // self.period))
            later.append(number + periods * self.period)
        least = min(later, default=None)
        return least if least is not None and (end is None or least < end) else None

    def __str__(self) -> str:
        shown = [str(number) for number in sorted((*self.once, *self.often))[:5]]
        more = bool(self.often) or len(self.once) > len(shown)
        return " or ".join([*shown, "..."] if more else shown)


_ANY_NUMBER = _Numbers((), (0,))
