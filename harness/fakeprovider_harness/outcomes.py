"""Every way a run can end: one table of statuses, stop kinds, and what may be resumed."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec


class Status(StrEnum):
    """Where a run stands. All but `running` are reached by exactly one `Stop`."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    MAX_TURNS_EXCEEDED = "max_turns_exceeded"
    BUDGET_EXCEEDED = "budget_exceeded"
    DEADLINE_EXCEEDED = "deadline_exceeded"
    CONTEXT_EXCEEDED = "context_exceeded"
    NO_PROGRESS = "no_progress"
    UNVERIFIED = "unverified"
    STOPPED = "stopped"
    INTERRUPTED = "interrupted"


class StopKind(StrEnum):
    """Why a run ended, as data; the status follows from it (`WAYS_OUT`)."""

    ANSWERED = "answered"
    VERIFIED = "verified"
    FATAL_TOOL_ERROR = "fatal_tool_error"
    PROVIDER_ERROR = "provider_error"
    MALFORMED_OUTPUT = "malformed_output"
    VERIFIER_ERROR = "verifier_error"
    GOAL_UNREACHABLE = "goal_unreachable"
    MAX_TURNS = "max_turns"
    MAX_TOOL_CALLS = "max_tool_calls"
    MAX_COST = "max_cost"
    MAX_TOKENS = "max_tokens"
    MAX_INPUT_TOKENS = "max_input_tokens"
    MAX_OUTPUT_TOKENS = "max_output_tokens"
    USAGE_UNKNOWN = "usage_unknown"
    DEADLINE = "deadline"
    ACTIVE_TIME = "active_time"
    CONTEXT_WINDOW = "context_window"
    REPEATED_CALLS = "repeated_calls"
    NO_PROGRESS = "no_progress"
    CONSECUTIVE_ERRORS = "consecutive_errors"
    EMPTY_REPLIES = "empty_replies"
    TRUNCATED_REPLIES = "truncated_replies"
    RATE_LIMITED = "rate_limited"
    PROVIDER_UNAVAILABLE = "provider_unavailable"
    VERIFICATION_FAILED = "verification_failed"
    CLAIMED = "claimed"
    PREDICATE = "predicate"
    APPROVAL = "approval"
    CANCELLED = "cancelled"
    UNKNOWN_OUTCOME = "unknown_outcome"


class WayOut(NamedTuple):
    """One row of the table."""

    kinds: tuple[StopKind, ...]
    resumable: bool


_K = StopKind
WAYS_OUT: dict[Status, WayOut] = {
    Status.COMPLETED: WayOut((_K.ANSWERED, _K.VERIFIED), False),
    Status.FAILED: WayOut(
        (
            _K.FATAL_TOOL_ERROR,
            _K.PROVIDER_ERROR,
            _K.MALFORMED_OUTPUT,
            _K.VERIFIER_ERROR,
            _K.GOAL_UNREACHABLE,
        ),
        False,
    ),
    Status.MAX_TURNS_EXCEEDED: WayOut((_K.MAX_TURNS, _K.MAX_TOOL_CALLS), True),
    Status.BUDGET_EXCEEDED: WayOut(
        (
            _K.MAX_COST,
            _K.MAX_TOKENS,
            _K.MAX_INPUT_TOKENS,
            _K.MAX_OUTPUT_TOKENS,
            _K.USAGE_UNKNOWN,
        ),
        True,
    ),
    Status.DEADLINE_EXCEEDED: WayOut((_K.DEADLINE, _K.ACTIVE_TIME), True),
    Status.CONTEXT_EXCEEDED: WayOut((_K.CONTEXT_WINDOW,), True),
    Status.NO_PROGRESS: WayOut(
        (
            _K.REPEATED_CALLS,
            _K.NO_PROGRESS,
            _K.CONSECUTIVE_ERRORS,
            _K.EMPTY_REPLIES,
            _K.TRUNCATED_REPLIES,
            _K.RATE_LIMITED,
            _K.PROVIDER_UNAVAILABLE,
        ),
        True,
    ),
    Status.UNVERIFIED: WayOut((_K.VERIFICATION_FAILED, _K.CLAIMED), True),
    Status.STOPPED: WayOut((_K.PREDICATE,), True),
    Status.INTERRUPTED: WayOut((_K.APPROVAL, _K.CANCELLED, _K.UNKNOWN_OUTCOME), True),
}
STATUS_OF: dict[StopKind, Status] = {
    kind: status for status, way in WAYS_OUT.items() for kind in way.kinds
}


def _rank(kind: StopKind) -> int:
    """Cancelled, fatal, completion, interruption, hard limits, no progress: low wins."""
    if kind is StopKind.CANCELLED:
        return 0
    order = (
        Status.FAILED,
        Status.COMPLETED,
        Status.INTERRUPTED,
        Status.MAX_TURNS_EXCEEDED,
        Status.BUDGET_EXCEEDED,
        Status.DEADLINE_EXCEEDED,
        Status.CONTEXT_EXCEEDED,
        Status.STOPPED,
        Status.NO_PROGRESS,
        Status.UNVERIFIED,
    )
    hard = range(order.index(Status.MAX_TURNS_EXCEEDED), order.index(Status.NO_PROGRESS))
    place = order.index(STATUS_OF[kind])
    return 1 + (hard.start if place in hard else place)


Number = int | float | Decimal


class Stop(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a run ended: what was measured, the limit it met, by how much it went over.

    `value`, `limit` and `overshoot` share the unit of the kind: turns, calls, tokens, USD
    (`Decimal`) or seconds. `evidence` is what a person needs beside the numbers (`reason` of a
    cancellation, `error` of a fatal tool); a `Decimal` in it becomes text, so that a stop is the
    same once it was stored. `also` holds whatever else held at that moment.
    """

    kind: StopKind
    value: Number | None = None
    limit: Number | None = None
    overshoot: Number | None = None
    evidence: dict[str, Any] = {}
    also: tuple[Stop, ...] = ()

    def __post_init__(self) -> None:
        if any(isinstance(each, Decimal) for each in self.evidence.values()):
            stable = {
                key: str(each) if isinstance(each, Decimal) else each
                for key, each in self.evidence.items()
            }
            msgspec.structs.force_setattr(self, "evidence", stable)

    @property
    def status(self) -> Status:
        """The status that this kind leads to."""
        return STATUS_OF[self.kind]

    @property
    def reason(self) -> str:
        """One word or the caller's own: what the trace says as `reason`."""
        return str(self.evidence.get("reason") or self.kind)

    def __str__(self) -> str:
        numbers = "" if self.limit is None else f" ({self.value} of {self.limit})"
        detail = self.evidence.get("reason") or self.evidence.get("error")
        alone = f"{self.kind}{numbers}" + (f": {detail}" if detail else "")
        return "; ".join([alone, *map(str, self.also)])


def weightiest(stops: Iterable[Stop]) -> Stop | None:
    """The stop that wins by precedence, with the others in `also`; None if there is none."""
    ordered = sorted(stops, key=lambda stop: _rank(stop.kind))
    if not ordered:
        return None
    first, *others = ordered
    return msgspec.structs.replace(first, also=(*first.also, *others)) if others else first


def resumable(status: Status) -> bool:
    """Whether `run` goes on from this status."""
    return status is Status.RUNNING or WAYS_OUT[status].resumable
