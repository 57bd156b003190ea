"""What is noted between a round and the next request: numbers that should fall, and nudges."""

from __future__ import annotations

from harness.conditions import NoProgress
from harness.leg import Leg
from harness.models.base import Message
from harness.state import Nudge, Reading
from harness.trace import Note


def measure(leg: Leg) -> None:
    """Read every measure that is a function: once before the first turn, once after each round."""
    state = leg.state
    if state.pending:
        return
    turn = len(state.turns)
    for leaf in leg.condition.leaves():
        if isinstance(leaf, NoProgress) and not _is_read(leg, leaf.name, turn):
            _read(leg, leaf, turn)


def _is_read(leg: Leg, name: str, turn: int) -> bool:
    """Whether the reading of this turn was taken; a turn without calls is no round."""
    if turn and not leg.state.turns[-1].calls:
        return True
    return any(reading.turn == turn for reading in leg.state.readings if reading.name == name)


def _read(leg: Leg, leaf: NoProgress, turn: int) -> None:
    function = leaf.function
    if function is None:
        return
    try:
        value = function(leg.state)
    except Exception as error:  # the number is not known: that ends no run
        leg.emit(Note(leg.state.run_id, f"measure {leaf.name}: {type(error).__name__}: {error}"))
        return
    if value is not None:
        leg.state.readings.append(Reading(turn, leaf.name, value))


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
