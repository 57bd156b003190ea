"""What an outer loop did: its iterations, and why it stopped, as data."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec
from filelock import FileLock, Timeout

from fakeprovider_harness.outer.plan_file import write
from fakeprovider_harness.state import RunBusy, RunState


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


class Book(msgspec.Struct, omit_defaults=True):
    """Iterations so far, the one that was begun and not ended, and how long nothing has moved.

    `done` are the items that were ticked when it was begun. `best` are the lowest counts seen
    (items left, tests failing), `fruitless` the iterations since one of them fell, `failures` the
    iterations in a row whose runs failed. `stopped` says that the loop ended by itself: whoever
    starts it again gives it another chance.
    """

    id: str
    iterations: list[Iteration] = []
    begun: Iteration | None = None
    done: list[str] = []
    best: dict[str, float] = {}
    fruitless: int = 0
    failures: int = 0
    stopped: bool = False

    @property
    def all(self) -> list[Iteration]:
        """The iterations so far, with the one that has not ended."""
        return self.iterations if self.begun is None else [*self.iterations, self.begun]

    @property
    def number(self) -> int:
        """The number of the next iteration, from 1."""
        return len(self.iterations) + 1

    def spent(self) -> Spent:
        """What all iterations have used."""
        return Spent(
            len(self.iterations),
            sum((each.cost_usd for each in self.all), Decimal(0)),
            sum(each.input_tokens + each.output_tokens for each in self.all),
            sum(each.seconds for each in self.all),
        )

    def progress(self, **counts: float | None) -> bool:
        """Take note of counts that should fall; whether one is lower than ever."""
        known = {name: count for name, count in counts.items() if count is not None}
        better = any(count < self.best.get(name, float("inf")) for name, count in known.items())
        for name, count in known.items():
            self.best[name] = min(count, self.best.get(name, count))
        return better


class Shelf:
    """Where a book is kept: a directory that one process at a time may use."""

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory)
        self._path = self.directory / "book.json"

    @contextmanager
    def claim(self) -> Iterator[Book]:
        """The book, for as long as the context lasts; raises `RunBusy` if another has it."""
        self.directory.mkdir(parents=True, exist_ok=True)
        (self.directory / ".gitignore").write_text("*\n", encoding="utf-8")
        lock = FileLock(self.directory / "lock", timeout=0)
        try:
            lock.acquire()
        except Timeout:
            raise RunBusy(f"another loop is at work in {self.directory}") from None
        try:
            yield self._load()
        finally:
            lock.release()

    def save(self, book: Book) -> None:
        """Keep the book as it is now."""
        write(self._path, msgspec.json.encode(book))

    @property
    def stop_asked(self) -> bool:
        """Whether somebody has left a file called `stop` there."""
        return (self.directory / "stop").exists()

    def _load(self) -> Book:
        if self._path.exists():
            return msgspec.json.decode(self._path.read_bytes(), type=Book)
        return Book(uuid.uuid4().hex)
