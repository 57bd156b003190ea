"""What an agent under the contract is given, and what it may report."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from fakeprovider.kit.transport import InProcess

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
