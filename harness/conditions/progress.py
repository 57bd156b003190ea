"""No progress: a number that should fall does not, or nothing new is learnt and nothing changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from harness.conditions.reference import found, named
from harness.conditions.rounds import Round, complete, rounds
from harness.state import CallRecord, Reading, RunState
from harness.stop import Condition, Stops, written
from harness.ways_out import Stop, StopKind

SHOWN = 20
"""Readings that a stop carries as evidence."""

Measure = Callable[[RunState], float | int | None]


@dataclass(frozen=True, repr=False)
class NoProgress(Condition):
    """Stop after `rounds` rounds without progress.

    `measure` is the number that should fall: failing tests, open threads, items left. It is the
    name under which tools report it (`ctx.measure("failing", 3)`), and then a round is a report of
    it; or a quick function of the state, or its `module:name`, called before the first turn and
    after each round (None: not known just now). Progress is a number below all before it; at 0
    there is nothing left to do and nothing is stopped.

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
        if self.rounds is not None and self.rounds < 1:
            raise ValueError(f"{self!r}: at least one round must be given a chance")
        if callable(self.measure):
            object.__setattr__(self, "measure", named(self.measure) or self.measure)

    def __call__(self, state: RunState) -> Stops:
        if self.rounds is None or not complete(state):
            return ()
        if self.measure is None:
            return self._stop(_barren(state), {})
        readings = list(_readings(state, self.name))
        if not readings:
            return ()
        return self._stop(_fruitless(readings), _evidence(self.name, readings))

    def _stop(self, barren: int, evidence: dict[str, Any]) -> Stops:
        if self.rounds is None or barren < self.rounds:
            return ()
        return (Stop(self.kind, barren, self.rounds, barren - self.rounds, evidence),)

    @property
    def name(self) -> str:
        """What the readings of the measure are filed under."""
        return self.measure if isinstance(self.measure, str) else repr(self.measure)

    @property
    def function(self) -> Measure | None:
        """The measure if it is a function; None if tools report it, or if there is none."""
        if isinstance(self.measure, str):
            return found(self.measure) if ":" in self.measure else None
        return self.measure

    def __repr__(self) -> str:
        return written(self)


def _readings(state: RunState, name: str) -> Iterator[Reading]:
    """The last reading of each turn of this leg, the first turn first."""
    last = {reading.turn: reading for reading in state.readings if reading.name == name}
    return (reading for turn, reading in sorted(last.items()) if turn >= state.leg_turns)


def _fruitless(readings: list[Reading]) -> int:
    """How many readings there were since the number was last lower than ever; 0 if it is 0."""
    values = [reading.value for reading in readings]
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
