"""No progress: a number that should fall does not, or nothing new is learnt and nothing changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from fakeprovider_harness import quantities
from fakeprovider_harness.conditions.predicate import function_name, function_named
from fakeprovider_harness.conditions.registry import Trial, stop_condition
from fakeprovider_harness.conditions.rounds import Round, complete, rounds
from fakeprovider_harness.outcomes import Stop, StopKind
from fakeprovider_harness.state import CallRecord, Reading, RunState
from fakeprovider_harness.stop import Condition, Stops, written

__all__ = ["NoProgress"]

SHOWN = 20
"""Readings that a stop carries as evidence."""

UNHEARD = 20
"""Rounds that a number may stay unknown without a failure: work may well begin with reading."""

Measure = Callable[[RunState], float | int | None]


@stop_condition(
    catches="nothing new is learnt and nothing changes, or a number that should fall does not",
    weakness="believes what tools say of themselves and of their numbers",
    example="NoProgress('failing', rounds=3)",
    arguments=lambda st: {"rounds": st.integers(1, 4)},
    trials=(
        Trial("NoProgress(rounds=3)", "fruitless", "long"),
        Trial("NoProgress('failing', rounds=3)", "circling", "fixer"),
    ),
)
@dataclass(frozen=True, repr=False)
class NoProgress(Condition):
    """Stop after `rounds` rounds without progress.

    `measure` is the number that should fall: failing tests, open threads, items left. It is the
    name under which tools report it (`ctx.measure("failing", 3)`), and then a round is a report of
    it; or a quick function of the state, or its `module:name`, called before the first turn and
    after each round (None: not known just now). Progress is a number below all before it; at 0
    there is nothing left to do and nothing is stopped. A measure that cannot be read watches
    nothing, so it stops the run too: after `rounds` rounds in a row in which its function failed or
    returned no number; after 20, or `rounds` if that is more, in which no tool has reported it or
    the function returned None. The trace has a note of each.

    Without `measure`, progress is a result text that the run has not seen before, or a call with
    effects that succeeded; so the same answer to ever new questions is stopped, and so is a loop
    that only reads. What a tool says of itself is believed: one that changes nothing should be
    declared `read_only`.
    """

    measure: str | Measure | None = None
    rounds: int | None = 3
    kind = StopKind.NO_PROGRESS
    scope = "leg"

    def __post_init__(self) -> None:
        quantities.whole("NoProgress: rounds", self.rounds, least=1)
        wanted = "NoProgress: measure is the name of a number that tools report, or a function"
        if isinstance(self.measure, str) and not self.measure.strip():
            raise ValueError(f"{wanted}; not {self.measure!r}. Leave it out to go by results alone")
        if self.measure is not None and not isinstance(self.measure, str | Callable):
            raise TypeError(f"{wanted}; not {self.measure!r}. Rounds are NoProgress(rounds=5)")
        if callable(self.measure):
            object.__setattr__(self, "measure", function_name(self.measure) or self.measure)

    def __call__(self, state: RunState) -> Stops:
        if self.rounds is None or not complete(state):
            return ()
        if self.measure is None:
            return self._stop(_barren(state), {})
        readings = list(_readings(state, self.name))
        if blind := self._blind(state, readings):
            return blind
        known = [each for each in readings if each.value is not None]
        return self._stop(_fruitless(known), _evidence(self.name, known)) if known else ()

    def _blind(self, state: RunState, readings: list[Reading]) -> Stops:
        """The stop for a measure that could not be read for too long."""
        unread = unreadable(state, readings)
        failed = [each for each in unread if each.error]
        if len(failed) < (self.rounds or 0) and len(unread) < self.patience:
            return ()
        why = failed[-1].error if failed else UNKNOWN
        words = f"the measure {self.name} could not be read for {len(unread)} rounds: {why}"
        return self._stop(len(unread), {"measure": self.name, "error": words})

    @property
    def patience(self) -> int:
        """Rounds that the measure may stay unknown without a failure."""
        return max(self.rounds or 0, UNHEARD)

    def _stop(self, barren: int, evidence: dict[str, Any]) -> Stops:
        if self.rounds is None or barren < self.rounds:
            return ()
        return (Stop(self.kind, barren, self.rounds, barren - self.rounds, evidence),)

    @property
    def name(self) -> str:
        """What the readings of the measure are filed under."""
        return self.measure if isinstance(self.measure, str) else repr(self.measure)

    @property
    def reported(self) -> bool:
        """Whether the measure is one that tools report."""
        return isinstance(self.measure, str) and ":" not in self.measure

    def function(self, state: RunState) -> object:
        """What the function that is the measure returns; it may raise anything."""
        fn = function_named(self.measure) if isinstance(self.measure, str) else self.measure
        return None if fn is None else fn(state)

    def __repr__(self) -> str:
        return written(self)


UNKNOWN = "no tool reported it, or its function returned None"


def unreadable(state: RunState, readings: Sequence[Reading]) -> list[Reading]:
    """Those of the latest rounds of this leg, without a gap, in which the number was not known."""
    latest = takewhile(
        lambda each: each.value is None and each.turn > state.leg_turns, reversed(readings)
    )
    return list(latest)[::-1]


def _readings(state: RunState, name: str) -> Iterator[Reading]:
    """The last reading of each turn of this leg, the first turn first."""
    last = {reading.turn: reading for reading in state.readings if reading.name == name}
    return (reading for turn, reading in sorted(last.items()) if turn >= state.leg_turns)


def _fruitless(readings: list[Reading]) -> int:
    """How many readings there were since the number was last lower than ever; 0 if it is 0."""
    values = [reading.value for reading in readings if reading.value is not None]
    best = min(values)
    return 0 if best <= 0 else len(values) - 1 - values.index(best)


def _evidence(name: str, readings: list[Reading]) -> dict[str, Any]:
    shown = [[reading.turn, reading.value] for reading in readings[-SHOWN:]]
    return {"measure": name, "per_round": shown, "left": readings[-1].value}


def _barren(state: RunState) -> int:
    """How many of the latest rounds brought neither a new text nor an effect."""
    before = len(state.results)
    barren = 0
    for each in rounds(state):
        before -= len(each.results)
        if _brings_something(each, state.results[:before]):
            break
        barren += 1
    return barren


def _brings_something(each: Round, earlier: list[CallRecord]) -> bool:
    if any(record.effect and record.outcome == "ok" for record in each.results):
        return True
    texts = {record.result for record in each.results}
    return not texts <= {record.result for record in earlier if record.result in texts}
