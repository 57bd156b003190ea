"""A call on its way to a result: what is known of it, and what people decided on it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Literal

import msgspec

from harness.models.base import Call

Outcome = Literal[
    "ok",
    "error",
    "invalid_args",
    "denied",
    "timeout",
    "cancelled",
    "not_started",
    "skipped",
    "unknown",
]
Phase = Literal["new", "awaiting", "ready", "started", "unknown", "done"]


class ToolResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the transcript says of one call: the text the model reads and what happened.

    A tool may return one itself, to say more than a text does. `permanent` says that the very same
    call will come to the same: it is not run again.
    """

    text: str
    outcome: Outcome = "ok"
    cached: bool = False
    permanent: bool = False


class Decision(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a person said of one call; it holds for this call, tool and arguments only.

    `by` and `at` say who and when (seconds since the epoch), `expires` until when it may be acted
    on; `standing` that it was given earlier for the rest of the run.
    """

    approved: bool
    fingerprint: str
    reason: str | None = None
    by: str = ""
    at: float | None = None
    expires: float | None = None
    standing: bool = False


class Standing(msgspec.Struct, frozen=True, omit_defaults=True):
    """An approval of all calls of a tool for the rest of the run, as the tool then was."""

    declaration: str
    by: str = ""
    at: float | None = None


class Spent(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a call's sub-agent has cost so far, as counted in the totals of the run."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    unpriced: int = 0
    turns: int = 0
    overrun: int = 0


class PendingCall(msgspec.Struct, omit_defaults=True):
    """A call the model asked for, on its way to a result.

    `call.id` is unique in the run and stands in the transcript; `key` is `turn.position`, the
    call's own identity; `args` are the parsed arguments (None while they do not parse);
    `fingerprint` and `declaration` are digests of tool and arguments, and of the tool; `reported`
    says that the trace knows its result, `begun` that it was started, in whatever process.
    `signature`, `effects`, `polls` and `final` are for its record. `edited` says that a person
    changed the arguments, `asked` when one was asked (seconds since the epoch), `note` what that
    person should know, `heard` that the trace knows the decision.
    """

    key: str
    call: Call
    phase: Phase = "new"
    args: dict[str, Any] | None = None
    fingerprint: str = ""
    declaration: str = ""
    decision: Decision | None = None
    result: ToolResult | None = None
    reported: bool = False
    begun: bool = False
    signature: str = ""
    effects: bool = False
    polls: int = 0
    final: bool = False
    edited: bool = False
    asked: float = 0.0
    note: str = ""
    heard: bool = False
    spent: Spent = Spent()

    @property
    def turn(self) -> int:
        """The turn that asked for it, counted from 1."""
        return int(self.key.partition(".")[0])

    @property
    def may_have_run(self) -> bool:
        """Whether it may have taken effect though it has no result."""
        return self.phase in ("started", "unknown") or (self.begun and self.effects)


class Interruption(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a person has to decide before the run can go on; `note` is what is odd about it."""

    type: Literal["approval", "unknown_outcome"]
    call_id: str
    tool: str
    args: dict[str, Any]
    note: str = ""
