"""What an agent under the contract is given, and what it may report."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from fakeprovider.driving.command_run import base_urls
from fakeprovider.driving.supervisor import Ended, Supervisor
from fakeprovider.testing.driving import checked, last_words
from fakeprovider.verdict import Effect

if TYPE_CHECKING:
    from fakeprovider.testing.transport import InProcess


Decide: TypeAlias = Callable[[str, Mapping[str, Any]], bool]


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool for the agent to offer: `run` takes the arguments by name and returns text.

    With `needs_approval` an agent that asks people calls `Limits.decide` before it runs.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    run: Callable[..., str]
    read_only: bool = False
    needs_approval: bool = False


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run is held to, and what it has to work with.

    `turns` are the model calls and `tokens` the input and output tokens that the run may take in
    all, also where it is resumed (None: no limit). `task` is what to tell the model, `tools` are
    there to be offered: their effects are seen. `decide(tool, arguments)` is the person who
    approves (True) or rejects. `cancel` is set when the run is to end at once. `home` is an empty
    folder to keep the run in; with `resume` it holds what an earlier call of the adapter left
    there, and the run goes on from that. `transport` is an httpx transport to use in place of the
    network, where the contract is checked in process.
    """

    turns: int | None = None
    tokens: int | None = None
    task: str = "Look after the notes."
    tools: tuple[OfferedTool, ...] = ()
    decide: Decide = lambda tool, arguments: True
    cancel: threading.Event = field(default_factory=threading.Event)
    home: Path = Path()
    resume: bool = False
    transport: InProcess | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """What the adapter says of its agent; a clause that needs more than is said is left out.

    `turns` and `tokens` (input and output) are the agent's own counts. `budget`: it keeps
    `Limits.tokens`. `approvals`: it asks `Limits.decide` before a tool that needs approval.
    `cancels`: it ends when `Limits.cancel` is set. `resumes`: it goes on from `Limits.home`.
    `shares`: it offers a tool `delegate(question)` that runs an agent under the same budget.
    """

    turns: int | None = None
    tokens: int | None = None
    budget: bool = False
    approvals: bool = False
    cancels: bool = False
    resumes: bool = False
    shares: bool = False


Adapter: TypeAlias = Callable[[str, Limits], Report | Awaitable[Report | None] | None]
"""An agent for the contract: a base URL that ends in `/v1` and limits in, perhaps a report out.

One that is async is run in an event loop of its own."""


READ = "read_note"
ADD = "add_note"
DELETE = "delete_note"
DELEGATE = "delegate"

_NAME: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
}
_TEXT: dict[str, Any] = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
}


class Workspace:
    """Tools whose effects are written down in `ledger`, in their order.

    `approves` is what the person says. With `dies` the first effect is the last thing that its
    thread does: it stands still from then on, as a process that was killed leaves things.
    """

    def __init__(self, *, approves: bool = True, dies: bool = False) -> None:
        self.ledger: list[Effect] = []
        self.died = threading.Event()
        self._approves = approves
        self._dies = dies
        self._gone = threading.Event()

    @property
    def tools(self) -> tuple[OfferedTool, ...]:
        """One that reads, one that writes, one that destroys and needs an approval."""
        return (
            OfferedTool(READ, "Read one note.", _NAME, self._read, read_only=True),
            OfferedTool(ADD, "Add a note; twice adds it twice.", _TEXT, self._add),
            OfferedTool(DELETE, "Delete one note.", _NAME, self._delete, needs_approval=True),
        )

    def decide(self, tool: str, arguments: Mapping[str, Any]) -> bool:
        """The person's decision, written down."""
        decision = "approved" if self._approves else "rejected"
        target = str(arguments.get("name", arguments.get("text", "")))
        self.ledger.append(Effect(tool=tool, target=target, decision=decision))
        return self._approves

    def done(self, tool: str = "", target: str = "") -> list[Effect]:
        """The effects, of one tool or on one target if named."""
        return [
            entry
            for entry in self.ledger
            if entry.effect and tool in ("", entry.tool) and target in ("", entry.target)
        ]

    def release(self) -> None:
        """Let a thread that stands still come to its end."""
        self._gone.set()

    def _read(self, name: str) -> str:
        return f"This is the note {name}."

    def _add(self, text: str) -> str:
        self._do(Effect("added", text, ADD))
        return f"Added note number {len(self.done(ADD))}."

    def _delete(self, name: str) -> str:
        self._do(Effect("deleted", name, DELETE))
        return f"Deleted {name}."

    def _do(self, effect: Effect) -> None:
        self.ledger.append(effect)
        if self._dies and not self.died.is_set():
            self.died.set()
            self._gone.wait()
            raise RuntimeError("the process of this call is gone")


_KEPT = 1 << 14  # bytes of output


class BadReport(ValueError):
    """A report that cannot be read."""


class Command:
    """An adapter that runs a command, which is told everything by its environment.

    Base URLs and keys are set as `fakeprovider exec` sets them; beside them `FAKEPROVIDER_TASK`,
    `FAKEPROVIDER_MAX_TURNS`, `FAKEPROVIDER_MAX_TOKENS` (each only if there is such a limit),
    `FAKEPROVIDER_HOME` and `FAKEPROVIDER_RESUME` (`1`), and `FAKEPROVIDER_REPORT`: a file that the
    command may write, a JSON object with the fields of `Report`.
    """

    def __init__(self, command: Sequence[str], timeout: float) -> None:
        self._command = checked(command)
        self._timeout = timeout
        self._ended: Ended | None = None

    def __call__(self, base_url: str, limits: Limits) -> Report | None:
        """Run it to its end, at most the timeout in seconds."""
        report = limits.home / "report.json"
        report.unlink(missing_ok=True)
        self._ended = Supervisor(
            self._command,
            env={**os.environ, **base_urls(base_url), **_variables(limits, report)},
            timeout=self._timeout,
            grace=1.0,
            capture=_KEPT,
        ).run()
        return _read(report) if report.exists() else None

    @property
    def last(self) -> str:
        """How it ended the last time: its exit status and the last lines that it wrote."""
        ended = self._ended
        if ended is None:
            return "the command has not ended"
        return last_words(self._command, ended)


def _variables(limits: Limits, report: Path) -> dict[str, str]:
    """The limits as environment variables."""
    variables = {
        "FAKEPROVIDER_TASK": limits.task,
        "FAKEPROVIDER_HOME": str(limits.home),
        "FAKEPROVIDER_REPORT": str(report),
    }
    if limits.turns is not None:
        variables["FAKEPROVIDER_MAX_TURNS"] = str(limits.turns)
    if limits.tokens is not None:
        variables["FAKEPROVIDER_MAX_TOKENS"] = str(limits.tokens)
    if limits.resume:
        variables["FAKEPROVIDER_RESUME"] = "1"
    return variables


def _read(path: Path) -> Report:
    """The report that a command wrote; fields that nobody knows pass."""
    known = {field.name for field in fields(Report)}
    try:
        written = json.loads(path.read_text(encoding="utf-8"))
        return Report(**{name: value for name, value in written.items() if name in known})
    except (ValueError, AttributeError) as error:
        raise BadReport(f"{path}: {error}") from error
