"""A run seen as rounds: the calls of one reply with their results, the latest first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from fakeprovider_harness.state import CallRecord, RunState


class Round(NamedTuple):
    """The results of one turn, in call order."""

    turn: int
    results: tuple[CallRecord, ...]


def rounds(state: RunState) -> Iterator[Round]:
    """The rounds of this leg, the latest first; turns without calls have none."""
    records: list[CallRecord] = []
    for record in reversed(state.results):
        if record.turn <= state.leg_turns:
            break
        if records and records[-1].turn != record.turn:
            yield Round(records[-1].turn, tuple(reversed(records)))
            records = []
        records.append(record)
    if records:
        yield Round(records[-1].turn, tuple(reversed(records)))


def complete(state: RunState) -> bool:
    """Whether the last reply had calls and all of them have results: only then a round is judged.

    In the middle of a round nobody knows yet what it brings.
    """
    if state.pending or not state.results:
        return False
    return state.results[-1].turn == len(state.turns)


def streak(state: RunState, holds: Callable[[Round], bool]) -> int:
    """How many of the latest turns were rounds that `holds` is true of, without a gap."""
    if not complete(state):
        return 0
    count = 0
    for each in rounds(state):
        if each.turn != len(state.turns) - count or not holds(each):
            break
        count += 1
    return count
