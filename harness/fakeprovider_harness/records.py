"""What a run keeps of what has happened: turns, requests, results, readings, checks, time."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Literal

import msgspec

from fakeprovider_harness.models.base import Call, Usage


class CallRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """A call and its result as the detectors see them: what was asked, what came, nothing else.

    `call` is a digest of the tool and its arguments without cosmetic ones, `result` of the text
    that the model read. `effect` says that the call may have changed the world, `polls` how many
    equal results in a row its tool calls normal (0: not a polling tool), `final` that its result is
    the answer of the run, `permanent` that the same call would come to the same.
    """

    turn: int
    tool: str
    call: str
    result: str
    outcome: Outcome
    effect: bool = False
    polls: int = 0
    final: bool = False
    permanent: bool = False


class Reading(msgspec.Struct, frozen=True, omit_defaults=True):
    """A number that should fall, as it stood after a turn (0: before the first).

    `value` is None where nobody could tell; `error` is then what went wrong, if anything did.
    """

    turn: int
    name: str
    value: float | int | None
    error: str = ""


class Nudge(msgspec.Struct, frozen=True, omit_defaults=True):
    """The model was told, after a turn, that it makes no progress; `kind` is the stop to come."""

    turn: int
    kind: str


class TurnRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """One accepted reply: tokens, cost in USD (None without a price), the provider's finish.

    `sent` is how many messages the request carried, `calls` how many tool calls came back,
    `tool_runs` how many had been run before, `ms` how long the provider took, `overrun` tokens that
    it used beyond what the request allowed.
    """

    turn: int
    usage: Usage
    cost_usd: Decimal | None
    finish: str | None
    sent: int
    calls: int = 0
    tool_runs: int = 0
    empty: bool = False
    model: str | None = None
    ms: float = 0.0
    overrun: int = 0


class LostRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """A request that brought no reply to keep, and what it is taken to have cost."""

    turn: int
    usage: Usage
    cost_usd: Decimal | None
    why: str


Purpose = Literal["summary", "check"]


class SideRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """A request beside the conversation, after `turn` turns, and what it cost."""

    turn: int
    purpose: Purpose
    usage: Usage
    cost_usd: Decimal | None


class Request(msgspec.Struct, frozen=True, omit_defaults=True):
    """A request marked as started; found in a saved state, it was in flight when the run died.

    The bounds are in tokens, `cost_usd` is what they come to (None: the price is not known).
    """

    turn: int
    prompt_bound: int
    output_bound: int
    cost_usd: Decimal | None = None


UNFINISHED = frozenset({"length", "pause", "content_filter", "refusal", "context_window"})
"""Finish reasons of a reply that is no claim to be done: cut, to be continued, or withheld."""

VerdictKind = Literal["pass", "stale", "fail", "error", "unreachable"]


class Check(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a verifier said of one claim to be done.

    `turn` is the reply that made the claim, `leg` the leg in which it was checked, `writes` how
    many calls with effects had been started by then: once there are more, the check is stale.
    `feedback` is what the model is told, `evidence` what a person may want to see.
    """

    turn: int
    leg: int
    verdict: VerdictKind
    feedback: str = ""
    writes: int = 0
    evidence: dict[str, Any] = {}


class Times(msgspec.Struct):
    """Clock readings, in seconds: the epoch at the start, then elapsed and active since.

    `elapsed` counts everything since the start, `active` only the time inside `run`, without the
    pauses before retries, which are `waited`.
    """

    started: float = 0.0
    elapsed: float = 0.0
    active: float = 0.0
    waited: float = 0.0
    left: float = 0.0


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


class View(msgspec.Struct, frozen=True, omit_defaults=True):
    """How requests show the transcript.

    Messages from `head` up to `upto` are left out, but for what the user said; `text` stands in
    their place. Results before `stubbed` are a line each, which names the tool `recall` if there
    is one. `turn` is how many turns there were when the view was made.
    """

    head: int = 0
    upto: int = 0
    text: str = ""
    stubbed: int = 0
    recall: str = ""
    turn: int = -1
