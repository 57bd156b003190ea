"""Replies in a row that come to nothing."""

from __future__ import annotations

from dataclasses import dataclass

from harness.state import RunState
from harness.stop import Limit, Scope, streak
from harness.ways_out import StopKind


@dataclass(frozen=True, repr=False)
class EmptyReplies(Limit):
    """Stop after `limit` replies in a row with neither text nor calls."""

    limit: int | None
    kind = StopKind.EMPTY_REPLIES
    scope: Scope = "leg"

    def measure(self, state: RunState) -> int:
        return streak(state, lambda index: state.turns[index].empty)


@dataclass(frozen=True, repr=False)
class TruncatedReplies(Limit):
    """Stop after `limit` replies in a row that were cut at the output limit."""

    limit: int | None
    kind = StopKind.TRUNCATED_REPLIES
    scope: Scope = "leg"

    def measure(self, state: RunState) -> int:
        return streak(state, lambda index: state.turns[index].finish == "length")
