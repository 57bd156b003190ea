"""Loops: the same calls with the same results, over and over.

A repeat is the same tool, the same arguments (without those that the tool declares cosmetic) and
the same result. A changed result is progress, and so is a new effect: both start the count afresh.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import NamedTuple

from fakeprovider_harness import quantities
from fakeprovider_harness.conditions.registry import Trial, stop_condition
from fakeprovider_harness.conditions.rounds import Round, complete, rounds
from fakeprovider_harness.outcomes import Stop, StopKind
from fakeprovider_harness.state import CallRecord, Nudge, RunState
from fakeprovider_harness.stop import Condition, Stops, written
from fakeprovider_harness.tooling import model_messages

__all__ = ["RepeatedCalls"]

WINDOW = 20
"""Rounds in which a scattered repeat is looked for."""

Pair = tuple[str, str]


class Loop(NamedTuple):
    """A loop that was found: `period` in rounds (0: scattered), how often of how often allowed."""

    period: int
    times: int
    allowed: int
    tools: tuple[str, ...]


@stop_condition(
    catches="the same calls with the same results, in a row, in a cycle or scattered",
    weakness="a new text in any argument makes another call of it",
    example="RepeatedCalls(3)",
    arguments=lambda st: {"limit": st.integers(2, 4), "nudge": st.booleans()},
    trials=(Trial("RepeatedCalls(3)", "cycle", "polling"),),
)
@dataclass(frozen=True, repr=False)
class RepeatedCalls(Condition):
    """Stop a loop: `limit` rounds of the same calls with the same results.

    Two shapes are found. A cycle: the last rounds repeat with a period of 1 to `period` rounds,
    `limit` times. A scattered repeat: one call with one result stands in 2 × `limit` of the last
    20 rounds, whatever lies between, with no changed result and no new effect among them. A tool
    that is declared `polling` has its own bound, `max_polls`, in either.

    With `nudge` the model is told once, in words, and the run stops at the next round of the same
    or of any later loop: a cycle of period p that begins at once is nudged after `limit` × p turns
    and stopped one turn later. Without it, it is stopped after `limit` × p turns.

    What only looks like work is not found: a new text in an argument that is not declared cosmetic
    makes another call of it. `NoProgress` looks at results alone.
    """

    limit: int | None = 3
    period: int = 5
    nudge: bool = True
    kind = StopKind.REPEATED_CALLS
    scope = "leg"

    def __post_init__(self) -> None:
        quantities.whole("RepeatedCalls: limit", self.limit, least=2)
        quantities.whole("RepeatedCalls: period", self.period, least=1, optional=False)
        if not isinstance(self.nudge, bool):
            raise TypeError(f"RepeatedCalls: nudge is True or False, not {self.nudge!r}")

    def __call__(self, state: RunState) -> Stops:
        loop = self._find(state)
        heard = any(nudge.turn < len(state.turns) for nudge in _nudges(state))
        if loop is None or (self.nudge and not heard):
            return ()
        evidence = {"tools": list(loop.tools), "period": loop.period}
        over = loop.times - loop.allowed
        return (Stop(self.kind, loop.times, loop.allowed, over, evidence),)

    def advice(self, state: RunState) -> str | None:
        if not self.nudge or any(_nudges(state)):
            return None
        loop = self._find(state)
        return None if loop is None else model_messages.looping(loop.tools, loop.times)

    def _find(self, state: RunState) -> Loop | None:
        if self.limit is None or not complete(state):
            return None
        latest = list(islice(rounds(state), WINDOW))
        if not latest:
            return None
        patience = max(self.limit, *map(_polls, latest))
        latest = list(islice(rounds(state), max(WINDOW, patience * self.period)))
        return self._cycle(latest, self.limit) or self._scattered(latest[:WINDOW], self.limit)

    def _cycle(self, latest: Sequence[Round], limit: int) -> Loop | None:
        seen = [_pairs(each) for each in latest]
        for period in range(1, min(self.period, len(seen) // 2) + 1):
            same = takewhile(lambda two: two[0] == two[1], zip(seen, seen[period:], strict=False))
            times = 1 + sum(1 for _ in same) // period
            cycle = latest[:period]
            allowed = max(limit, *map(_polls, cycle))
            if times >= allowed:
                return Loop(period, times, allowed, _tools(reversed(cycle)))
        return None

    def _scattered(self, latest: Sequence[Round], limit: int) -> Loop | None:
        still = latest[: _since_change(latest)]
        for record in latest[0].results:
            allowed = max(2 * limit, record.polls)
            times = sum(_pair(record) in _pairs(each) for each in still)
            if times >= allowed:
                return Loop(0, times, allowed, (record.tool,))
        return None

    def __repr__(self) -> str:
        return written(self)


def _nudges(state: RunState) -> Iterator[Nudge]:
    """The nudges of this leg: the model has read one only once it has replied since."""
    for nudge in state.nudges:
        if nudge.kind == StopKind.REPEATED_CALLS and nudge.turn >= state.leg_turns:
            yield nudge


def _since_change(latest: Sequence[Round]) -> int:
    """How many of the latest rounds there are since something was seen to change, that one too."""
    results: dict[str, str] = {}
    changed = len(latest)
    for place in range(len(latest) - 1, -1, -1):
        if any(_changes(record, results) for record in latest[place].results):
            changed = place + 1
        results.update((record.call, record.result) for record in latest[place].results)
    return changed


def _changes(record: CallRecord, earlier: Mapping[str, str]) -> bool:
    """Whether a result is news of a changed world: a new effect, or another result than before."""
    if record.call not in earlier:
        return record.effect
    return earlier[record.call] != record.result


def _pairs(each: Round) -> frozenset[Pair]:
    return frozenset(map(_pair, each.results))


def _pair(record: CallRecord) -> Pair:
    return record.call, record.result


def _polls(each: Round) -> int:
    return max(record.polls for record in each.results)


def _tools(cycle: Iterable[Round]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(record.tool for each in cycle for record in each.results))
