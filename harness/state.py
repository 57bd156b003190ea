"""The run as data: everything that a process needs to go on where another one ended."""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import Any, Literal

import msgspec

from harness.models.base import Call, Message, Usage
from harness.models.surrogates import mend
from harness.view import View
from harness.ways_out import Status, Stop, resumable

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
    """A number that should fall, as it stood after a turn (0: before the first)."""

    turn: int
    name: str
    value: float | int


class Nudge(msgspec.Struct, frozen=True, omit_defaults=True):
    """The model was told, after a turn, that it makes no progress; `kind` is the stop to come."""

    turn: int
    kind: str


class Interruption(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a person has to decide before the run can go on; `note` is what is odd about it."""

    type: Literal["approval", "unknown_outcome"]
    call_id: str
    tool: str
    args: dict[str, Any]
    note: str = ""


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


VERSION = 1
"""The form of a stored run; a newer one is refused, since what it says more would be lost."""


class RunState(msgspec.Struct, omit_defaults=True):
    """A run, whole and serialisable; `run` moves it on in place and returns it.

    `writes` counts the calls with effects that were started, `checks` what verifiers said;
    `view` is what requests leave out, `compacted` the turns there were when that was last looked
    at, `fruitless` how often in a row it was of no use; `beside` are requests for such summaries
    and for checks. `results`, `readings` and `nudges` are what detectors go by.
    Totals (tokens, `cost_usd` in USD) include sub-agents and requests that were lost; `unpriced`
    counts requests whose price is not known, which `cost_usd` leaves out; `child_turns` and
    `agents` count the turns of sub-agents and the sub-agents, at all levels below; `overrun` the
    tokens that services used beyond what requests allowed.
    `leg_turns` is how many turns there were when streaks began to be counted (`stop.Scope`);
    `setup` is what a caller needs to take the run up again, such as the goal in words.
    """

    run_id: str
    messages: list[Message] = []
    turns: list[TurnRecord] = []
    lost: list[LostRequest] = []
    checks: list[Check] = []
    beside: list[SideRequest] = []
    results: list[CallRecord] = []
    readings: list[Reading] = []
    nudges: list[Nudge] = []
    pending: list[PendingCall] = []
    status: Status = Status.RUNNING
    stop: Stop | None = None
    answer: str = ""
    tool_runs: int = 0
    writes: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    unpriced: int = 0
    child_turns: int = 0
    agents: int = 0
    overrun: int = 0
    estimated: bool = False
    request: Request | None = None
    view: View = View()
    compacted: int = -1
    fruitless: int = 0
    times: Times = msgspec.field(default_factory=Times)
    legs: int = 0
    leg_turns: int = 0
    parent: str | None = None
    always: dict[str, Standing] = {}
    setup: dict[str, str] = {}
    revision: int = 0
    version: int = VERSION

    def __post_init__(self) -> None:
        if self.version > VERSION:
            raise ValueError(
                f"run {self.run_id!r} was written by a newer harness (form {self.version}; this one "
                f"reads up to {VERSION}): go on with it there, or update this one"
            )

    @classmethod
    def start(
        cls,
        task: str,
        *,
        system: str | None = None,
        run_id: str | None = None,
        parent: str | None = None,
    ) -> RunState:
        """A new run on `task`; without `run_id` it gets a random one."""
        opening = [Message("system", mend(system))] if system is not None else []
        return cls(
            run_id=run_id or uuid.uuid4().hex,
            messages=[*opening, Message("user", mend(task))],
            parent=parent,
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> RunState:
        """The state that `to_json` wrote; raises `msgspec.ValidationError` on anything else."""
        return msgspec.json.decode(text, type=cls)

    def to_json(self) -> str:
        """The whole run as one JSON object."""
        return msgspec.json.encode(self).decode()

    @property
    def resumable(self) -> bool:
        """Whether `run` would go on from here."""
        return resumable(self.status)

    @property
    def reason(self) -> str | None:
        """Why the run ended, in one word or the caller's own; None while it goes on."""
        return None if self.stop is None else self.stop.reason

    @property
    def claim(self) -> str | None:
        """The last reply's text, if that reply says that the work is done: it asks for nothing.

        So does a reply that calls a tool declared `final`: then it is the result of that call.

        None while the run is at work, and for a reply that did not come to its end.
        """
        turn = self.turns[-1] if self.turns else None
        if turn is None or turn.empty:
            return None
        if turn.calls:
            return self._final_result(turn)
        return None if turn.finish in UNFINISHED else self._joined_text()

    def _joined_text(self) -> str:
        """The last reply's text, and before it what it went on from, if that was cut."""
        *earlier, after = self.turns
        texts = [self.messages[after.sent].content or ""]
        for turn in reversed(earlier):
            cut = turn.finish == "length" and not turn.calls and not turn.empty
            if not cut or after.sent != turn.sent + 2:  # between them stands "go on", nothing else
                break
            texts.append(self.messages[turn.sent].content or "")
            after = turn
        return "".join(reversed(texts))

    def _final_result(self, turn: TurnRecord) -> str | None:
        """The result of a final tool that the last reply called with success."""
        last = self.results[-turn.calls :]
        final = next((each.tool for each in last if each.final and each.turn == turn.turn), None)
        if final is None or self.pending:
            return None
        told = (m for m in self.messages[turn.sent :] if m.name == final and m.outcome == "ok")
        return next((message.content for message in told), None)

    @property
    def verified(self) -> bool:
        """Whether the last claim passed its check and nothing was written since."""
        check = self.checks[-1] if self.checks else None
        if check is None or self.claim is None:
            return False
        return (check.verdict, check.turn, check.writes) == ("pass", len(self.turns), self.writes)

    @property
    def steps(self) -> int:
        """Replies of the model, summaries of the conversation included."""
        return len(self.turns) + sum(request.purpose == "summary" for request in self.beside)

    @property
    def total_tokens(self) -> int:
        """Input and output tokens together."""
        return self.input_tokens + self.output_tokens

    @property
    def interruptions(self) -> list[Interruption]:
        """The calls that wait for a person, in call order."""
        return [
            Interruption(
                "approval" if call.phase == "awaiting" else "unknown_outcome",
                call.call.id,
                call.call.name,
                call.args or {},
                call.note,
            )
            for call in self.pending
            if call.phase in ("awaiting", "unknown")
        ]

    @property
    def tree_turns(self) -> int:
        """Replies of the model to this run and to all its sub-agents."""
        return self.steps + self.child_turns

    def charge(self, usage: Usage, cost_usd: Decimal | None) -> None:
        """Add one request to the totals."""
        self.input_tokens += usage.prompt_tokens
        self.output_tokens += usage.completion_tokens
        self.estimated = self.estimated or usage.estimated
        if cost_usd is None:
            self.unpriced += 1
        else:
            self.cost_usd += cost_usd

    def end(self, stop: Stop) -> None:
        """Record why the run, or this leg of it, ended."""
        self.stop = stop
        self.status = stop.status

    def reopen(self, *, afresh: bool = False) -> None:
        """Go on after a stop.

        Streaks are counted afresh where a person took the run up after a stop for lack of
        progress, or if told so; not after an approval or a limit, which say nothing of them.
        """
        if afresh or (self.stop is not None and self.stop.status is Status.NO_PROGRESS):
            self.leg_turns = len(self.turns)
        self.stop = None
        self.status = Status.RUNNING
