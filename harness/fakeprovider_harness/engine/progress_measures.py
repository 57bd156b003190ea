"""What is noted between a round and the next request: numbers that should fall, and nudges."""

from __future__ import annotations

from fakeprovider_harness import quantities
from fakeprovider_harness.conditions import NoProgress
from fakeprovider_harness.conditions.progress import UNKNOWN, unreadable
from fakeprovider_harness.engine.run_context import Leg
from fakeprovider_harness.models.base import Message
from fakeprovider_harness.state import Nudge, Reading, RunState
from fakeprovider_harness.trace import Note


def measure(leg: Leg) -> None:
    """Read every measure, or note that it could not be: before the first turn, after each round."""
    state = leg.state
    if state.pending:
        return
    turn = len(state.turns)
    for leaf in leg.condition.leaves():
        if isinstance(leaf, NoProgress) and leaf.measure and not _is_read(leg, leaf, turn):
            _take(leg, leaf, _reading(state, leaf, turn))


def _is_read(leg: Leg, leaf: NoProgress, turn: int) -> bool:
    """Whether the reading of this turn was taken; a turn without calls is no round."""
    readings = [reading for reading in leg.state.readings if reading.name == leaf.name]
    if leaf.reported and (not turn or any(each.value is not None for each in readings)):
        return True  # a round without a report is none of its rounds, once there was one
    if turn and not leg.state.turns[-1].calls:
        return True
    return any(reading.turn == turn for reading in readings)


def _reading(state: RunState, leaf: NoProgress, turn: int) -> Reading:
    if leaf.reported:
        return Reading(turn, leaf.name, None)
    try:
        value = leaf.function(state)
        return Reading(turn, leaf.name, None if value is None else quantities.reading(value))
    except Exception as error:  # whatever the caller's function raises; the stop says it
        return Reading(turn, leaf.name, None, f"{type(error).__name__}: {error}")


def _take(leg: Leg, leaf: NoProgress, reading: Reading) -> None:
    """Keep a reading; a failure is noted at once, an unknown number once it lasts."""
    state = leg.state
    state.readings.append(reading)
    if reading.value is not None:
        return
    own = [each for each in state.readings if each.name == leaf.name]
    if reading.error or len(unreadable(state, own)) >= (leaf.rounds or 1):
        leg.emit(Note(state.run_id, f"measure {leaf.name}: {reading.error or UNKNOWN}"))


def nudge(leg: Leg) -> None:
    """Tell the model, once, what a condition has to say before it stops the run."""
    state = leg.state
    for leaf in leg.condition.leaves():
        text = leaf.advice(state)
        if text is not None:
            kind = str(leaf.kind)
            state.messages.append(Message("user", text))
            state.nudges.append(Nudge(len(state.turns), kind))
            leg.emit(Note(state.run_id, f"nudge ({kind}): {text}"))
