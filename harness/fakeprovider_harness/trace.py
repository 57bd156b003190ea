"""Trace events: small tagged records, one JSON line each, the run id on every one."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from types import TracebackType

import msgspec

from fakeprovider_harness.outcomes import Status
from fakeprovider_harness.state import Outcome, Purpose, VerdictKind


class Event(msgspec.Struct, frozen=True, tag_field="type"):
    """What all events share."""

    run_id: str


class TurnEvent(Event, frozen=True, tag="turn"):
    """A reply was accepted and charged; `cost_usd` is the run's so far (None: no price known)."""

    turn: int
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    cost_usd: Decimal | None
    finish: str | None


class ToolStart(Event, frozen=True, tag="tool_start"):
    """A tool is about to run; `args` is the text the model sent."""

    tool: str
    args: str
    call_id: str


class ToolProgress(Event, frozen=True, tag="tool_progress"):
    """A running tool says how far it is."""

    tool: str
    label: str
    call_id: str


class ToolEnd(Event, frozen=True, tag="tool_result"):
    """A call has its result; `ms` is 0 where nothing was run."""

    tool: str
    ms: float
    ok: bool
    outcome: Outcome
    call_id: str
    cached: bool = False


class ApprovalRequired(Event, frozen=True, tag="approval_required"):
    """A call waits for a person."""

    tool: str
    args: str
    call_id: str


class Decided(Event, frozen=True, tag="decided"):
    """A person decided on a call: `by` whom and `at` what time (seconds since the epoch).

    `edited` are the arguments that replace the model's; `standing` says that the approval was given
    earlier, for the rest of the run.
    """

    tool: str
    call_id: str
    approved: bool
    reason: str | None
    by: str
    at: float | None
    edited: str | None = None
    standing: bool = False


class RunResumed(Event, frozen=True, tag="run_resumed"):
    """A later leg begins, `waited` seconds after the last one ended."""

    leg: int
    waited: float


class RequestLost(Event, frozen=True, tag="request_lost"):
    """A request brought no reply to keep; its cost is charged, estimated where unknown."""

    turn: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: Decimal | None
    why: str


class RequestRetried(Event, frozen=True, tag="request_retried"):
    """A request failed and is sent again after `wait` seconds.

    `failures` counts the failed attempts so far; `discard` characters of text that were shown
    belong to the failed one and are to be taken back.
    """

    turn: int
    failures: int
    wait: float
    message: str
    status: int | None
    discard: int


class LateEffect(Event, frozen=True, tag="late_effect"):
    """A tool that was given up has ended after all; its result is dropped, its effect stands."""

    tool: str
    call_id: str
    ok: bool


class Note(Event, frozen=True, tag="note"):
    """Something odd that did not spoil the run, in words."""

    text: str


class Verification(Event, frozen=True, tag="verification"):
    """A claim to be done was checked; `feedback` is why it did not pass."""

    turn: int
    verdict: VerdictKind
    feedback: str
    ms: float


class Compaction(Event, frozen=True, tag="compaction"):
    """Requests carry less from here on: characters `before` and `after`."""

    turn: int
    prompt_tokens: int
    before: int
    after: int


class Beside(Event, frozen=True, tag="side_request"):
    """A request beside the conversation was charged."""

    turn: int
    purpose: Purpose
    prompt_tokens: int
    completion_tokens: int
    cost_usd: Decimal | None


class RunStopped(Event, frozen=True, omit_defaults=True, tag="run_stopped"):
    """A leg has ended: the last event of each.

    `turns` and `cost_usd` are those of the run so far, over all legs, so they must not be added up;
    `leg_turns` and `leg_cost_usd` are those of leg number `leg` alone. `why` is the error that
    ended it, in words; it is left out where there was none.
    """

    status: Status
    reason: str
    turns: int
    cost_usd: Decimal | None
    leg: int
    leg_turns: int
    leg_cost_usd: Decimal | None
    why: str = ""


Trace = Callable[[Event], None]

_ENCODER = msgspec.json.Encoder(decimal_format="number")


def encode(event: Event) -> bytes:
    """One event as compact JSON, money as a number with every digit."""
    return _ENCODER.encode(event)


class JsonlTrace:
    """A trace that appends one line per event to a file.

    An `OSError` while it is written, such as for a full disk, names the file.
    A tool that was given up may end after `close()`, in a thread of its own: its late event is
    appended all the same.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path).absolute()  # a late event finds it from any working directory
        self._lock = threading.Lock()
        self._file = open(path, "ab", buffering=0)  # noqa: SIM115 - closed by close()

    def __call__(self, event: Event) -> None:
        line = encode(event) + b"\n"
        with self._lock:
            if not self._file.closed:
                self._append(self._file, line)
                return
        with open(self._path, "ab", buffering=0) as late:
            self._append(late, line)

    def _append(self, file: io.FileIO, line: bytes) -> None:
        try:
            file.write(line)
        except OSError as error:  # says nothing of which file it is
            raise OSError(error.errno, error.strerror, str(self._path)) from error

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._file.close()

    def __enter__(self) -> JsonlTrace:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class ListTrace:
    """A trace that keeps the events in `events`."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        self.events.append(event)


def no_trace(event: Event) -> None:
    """A trace that keeps nothing."""
