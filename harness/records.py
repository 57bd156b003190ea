"""What a run keeps of what has happened: turns, requests, results, readings, checks, time."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Literal

import msgspec

from harness.models.base import Usage
from harness.pending import Outcome


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
