"""The run as data, all that a process needs to go on where another one ended; and who keeps it.

At the end stand the digests that tell one call from another, whatever the spacing and the order of
keys in its JSON.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from contextlib import AbstractContextManager, nullcontext
from decimal import Decimal
from typing import Any, Protocol

import msgspec

from fakeprovider_harness import quantities
from fakeprovider_harness.models.base import Message, Usage
from fakeprovider_harness.models.wire import mend
from fakeprovider_harness.outcomes import Status, Stop, resumable
from fakeprovider_harness.records import (
    UNFINISHED,
    CallRecord,
    Check,
    Decision,
    Interruption,
    LostRequest,
    Nudge,
    Outcome,
    PendingCall,
    Phase,
    Purpose,
    Reading,
    Request,
    SideRequest,
    Spent,
    Standing,
    Times,
    ToolResult,
    TurnRecord,
    VerdictKind,
    View,
)

__all__ = [
    "UNFINISHED",
    "VERSION",
    "CallRecord",
    "Check",
    "Decision",
    "Interruption",
    "LostRequest",
    "Nudge",
    "Outcome",
    "PendingCall",
    "Phase",
    "Purpose",
    "Reading",
    "Request",
    "RunState",
    "SideRequest",
    "Spent",
    "Standing",
    "Times",
    "ToolResult",
    "TurnRecord",
    "VerdictKind",
]

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
                f"run {self.run_id!r} was written by a newer harness (form {self.version}; this "
                f"one reads up to {VERSION}): go on with it there, or update this one"
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
        """A new run on `task`; without `run_id` it gets a random one.

        Raises `TypeError` for what is no text.
        """
        quantities.text("RunState.start: task", task)
        for name, value in {"system": system, "run_id": run_id, "parent": parent}.items():
            quantities.text(f"RunState.start: {name}", value, optional=True)
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
        answers = (m for m in self.messages[turn.sent :] if m.name == final and m.outcome == "ok")
        return next((message.content for message in answers), None)

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


class RunBusy(Exception):
    """Another process is running this run; nothing was changed."""


class StaleRun(Exception):
    """The store has a newer revision of this run; nothing was changed."""


class Storage(Protocol):
    """Where a run is kept while it goes on."""

    def claim(self, run_id: str) -> AbstractContextManager[None]:
        """Own the run until the context ends; raises `RunBusy` if another owner lives."""
        ...

    def find(self, run_id: str) -> RunState | None:
        """The run as it was last saved, None if there is none."""
        ...

    def save(self, state: RunState, *, durable: bool = False) -> None:
        """Keep what is new since the last save; raises `StaleRun` if somebody else saved.

        `durable` survives the loss of power, otherwise the loss of the process.
        """
        ...


class NoStore:
    """Keeps nothing: a run that ends with its process."""

    def claim(self, run_id: str) -> AbstractContextManager[None]:
        return nullcontext()

    def find(self, run_id: str) -> RunState | None:
        return None

    def save(self, state: RunState, *, durable: bool = False) -> None:
        return None


def canonical(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(*parts: Any) -> str:
    """A digest of JSON-like values: 32 hexadecimal digits."""
    return hashlib.sha256(canonical(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def of_text(text: str) -> str:
    """What tells one result from another: 32 hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def of_call(tool: str, arguments: dict[str, Any]) -> str:
    """What a decision or a cached result is bound to: the tool and its arguments."""
    return digest(tool, arguments)
