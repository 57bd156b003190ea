"""What an outer loop did: its iterations, and why it stopped, as data."""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum
from typing import Any

import msgspec

from harness.state import RunState


class OuterKind(StrEnum):
    """Why an outer loop ended."""

    PLAN_EMPTY = "plan_empty"
    MARKER = "marker"
    MET = "met"
    CLAIMED = "claimed"
    ENDED = "ended_by_model"
    EXPIRED = "expired"
    MAX_ITERATIONS = "max_iterations"
    MAX_COST = "max_cost"
    MAX_TOKENS = "max_tokens"
    MAX_SECONDS = "max_seconds"
    NO_PROGRESS = "no_progress"
    IDLE = "idle"
    UNCLEAR = "unclear"
    IMPOSSIBLE = "impossible"
    FAILURES = "failures"
    NEEDS_PERSON = "needs_person"
    RUN_STOPPED = "run_stopped"
    USER = "user"


FINISHED = frozenset({OuterKind.PLAN_EMPTY, OuterKind.MARKER, OuterKind.MET, OuterKind.ENDED})
"""Ends at which the work is said to be done."""


class OuterStop(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why an outer loop ended; `value` and `limit` as text, `evidence` for a person."""

    kind: OuterKind
    value: str | None = None
    limit: str | None = None
    evidence: dict[str, Any] = {}

    def __str__(self) -> str:
        numbers = "" if self.limit is None else f" ({self.value} of {self.limit})"
        said = self.evidence.get("error") or self.evidence.get("reason")
        return f"{self.kind}{numbers}" + (f": {said}" if said else "")


class Spent(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was used: iterations, USD, tokens, seconds."""

    iterations: int = 0
    cost_usd: Decimal = Decimal(0)
    tokens: int = 0
    seconds: float = 0.0

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            self.iterations + other.iterations,
            self.cost_usd + other.cost_usd,
            self.tokens + other.tokens,
            self.seconds + other.seconds,
        )


class Iteration(msgspec.Struct, frozen=True, omit_defaults=True):
    """One iteration: the run in it, or the part of a run, and what it came to.

    `context` is the size of its first prompt in tokens; `open` what was left to do after it, None
    where nothing is counted; `verified` whether a check has passed after it. `lost` says that its
    process died and what it had used is not known.
    """

    number: int
    run_id: str
    began: float
    seconds: float = 0.0
    task: str = ""
    status: str = ""
    reason: str = ""
    turns: int = 0
    tool_runs: int = 0
    context: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    unpriced: int = 0
    open: int | None = None
    verified: bool = False
    lost: bool = False
    notes: tuple[str, ...] = ()


class OuterReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """All iterations of an outer loop and why it stopped."""

    loop: str
    iterations: list[Iteration]
    stop: OuterStop
    verified: bool = False

    @property
    def spent(self) -> Spent:
        """What all iterations have used."""
        seconds = sum(each.seconds for each in self.iterations)
        tokens = self.input_tokens + self.output_tokens
        return Spent(len(self.iterations), self.cost_usd, tokens, seconds)

    @property
    def done(self) -> bool:
        """Whether the work is said to be done: by the plan, the model or an evaluator."""
        return self.stop.kind in FINISHED

    @property
    def cost_usd(self) -> Decimal:
        """USD of all iterations."""
        return sum((each.cost_usd for each in self.iterations), Decimal(0))

    @property
    def unpriced(self) -> int:
        """Requests whose price is not known, which `cost_usd` leaves out."""
        return sum(each.unpriced for each in self.iterations)

    @property
    def input_tokens(self) -> int:
        """Prompt tokens of all iterations."""
        return sum(each.input_tokens for each in self.iterations)

    @property
    def output_tokens(self) -> int:
        """Completion tokens of all iterations."""
        return sum(each.output_tokens for each in self.iterations)


def used(state: RunState, before: RunState | None = None) -> dict[str, Any]:
    """What a run has used since `before` (from its start without), as fields of an iteration."""
    first = 0 if before is None else len(before.turns)
    names = ("tool_runs", "input_tokens", "output_tokens", "cost_usd", "unpriced")
    totals = {
        name: getattr(state, name) - (0 if before is None else getattr(before, name))
        for name in names
    }
    context = state.turns[first].usage.prompt_tokens if len(state.turns) > first else 0
    return {
        **totals,
        "turns": len(state.turns) - first,
        "context": context,
        "status": str(state.status),
        "reason": state.reason or "",
    }
