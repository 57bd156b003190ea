"""Replies and rounds in a row that come to nothing."""

from __future__ import annotations

from dataclasses import dataclass

from fakeprovider_harness.conditions.registry import Trial, stop_condition
from fakeprovider_harness.conditions.rounds import Round
from fakeprovider_harness.conditions.rounds import streak as streak_of_rounds
from fakeprovider_harness.outcomes import StopKind
from fakeprovider_harness.state import RunState
from fakeprovider_harness.stop import Limit, latest_turns, streak

__all__ = ["ConsecutiveErrors", "EmptyReplies", "MalformedCalls", "TruncatedReplies"]


@stop_condition(
    catches="replies with neither text nor calls",
    weakness="one word or one call starts the count afresh",
    example="EmptyReplies(2)",
    arguments=lambda st: {"limit": st.integers(0, 6)},
    trials=(Trial("EmptyReplies(2)", "empty", "plan"),),
)
@dataclass(frozen=True, repr=False)
class EmptyReplies(Limit):
    """Stop after `limit` replies in a row with neither text nor calls.

    It replaces `Settings.empty_replies`, which ends a run without it.
    """

    limit: int | None
    kind = StopKind.EMPTY_REPLIES
    whole = True
    scope = "leg"

    def measure(self, state: RunState) -> int:
        return streak(turn.empty for turn in latest_turns(state))


@stop_condition(
    catches="replies that are cut at the output limit",
    weakness="one reply that is not cut starts the count afresh",
    example="TruncatedReplies(3)",
    arguments=lambda st: {"limit": st.integers(0, 6)},
    trials=(Trial("TruncatedReplies(3)", "truncated", "plan"),),
)
@dataclass(frozen=True, repr=False)
class TruncatedReplies(Limit):
    """Stop after `limit` replies in a row that were cut at the output limit.

    It replaces `Settings.truncated_replies`, which ends a run without it.
    """

    limit: int | None
    kind = StopKind.TRUNCATED_REPLIES
    whole = True
    scope = "leg"

    def measure(self, state: RunState) -> int:
        return streak(turn.finish == "length" for turn in latest_turns(state))


@stop_condition(
    catches="calls of tools that do not exist or with arguments that do not fit",
    weakness="one call that fits, whatever it does, starts the count afresh",
    example="MalformedCalls(3)",
    arguments=lambda st: {"limit": st.integers(0, 6)},
    trials=(Trial("MalformedCalls(3)", "malformed", "recover"),),
)
@dataclass(frozen=True, repr=False)
class MalformedCalls(Limit):
    """Stop after `limit` rounds in a row in which no call could be understood.

    A call is malformed if there is no such tool, if its arguments are not JSON, or if they do not
    fit the schema. A reply that was cut at the output limit counts under `TruncatedReplies`.
    """

    limit: int | None = 3
    kind = StopKind.MALFORMED_OUTPUT
    whole = True
    scope = "leg"

    def measure(self, state: RunState) -> int:
        return streak_of_rounds(state, lambda each: _all(each, "invalid_args"))


@stop_condition(
    catches="rounds in which every call fails",
    weakness="one call that succeeds, such as a listing, starts the count afresh",
    example="ConsecutiveErrors(3)",
    arguments=lambda st: {"limit": st.integers(0, 6)},
    trials=(Trial("ConsecutiveErrors(3)", "denied", "shaky"),),
)
@dataclass(frozen=True, repr=False)
class ConsecutiveErrors(Limit):
    """Stop after `limit` rounds in a row in which every call failed: an error or a timeout.

    What the code decided itself (a denial, a call that was skipped or cancelled) is no failure.
    """

    limit: int | None = 5
    kind = StopKind.CONSECUTIVE_ERRORS
    whole = True
    scope = "leg"

    def measure(self, state: RunState) -> int:
        return streak_of_rounds(state, lambda each: _all(each, *FAILURES))


FAILURES = ("error", "timeout", "invalid_args")


def _all(each: Round, *outcomes: str) -> bool:
    return all(record.outcome in outcomes for record in each.results)
