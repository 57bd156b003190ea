"""One case of the contract: what the model does, under which limits, and what goes wrong."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import structs

from fakeprovider.contract.agents import Adapter, Limits, Report, Workspace
from fakeprovider.conversation import Conversation
from fakeprovider.journal import Exchange
from fakeprovider.replies import Fault, Reply
from fakeprovider.testing import FakeProvider, Run
from fakeprovider.testing.inline_scripts import Mapped
from fakeprovider.verdict import Effect, Facts
from fakeprovider.verdict.run import Run as VerdictRun


@dataclass(frozen=True)
class Case:
    """What an agent is put through; prints as what to paste.

    `script` is what the model does. `turns` and `tokens` limit the run, `resumed` is the limit of
    turns under which it is resumed (None: it is not). `fault` goes wrong on the way. `approves` is
    what the person says. With `dies` the process is gone at the first effect, and the run is
    resumed.
    `cancel` is the turn (from 0) that is under way when the run is cancelled.
    """

    script: Callable[[Conversation], Reply]
    turns: int | None = 10
    tokens: int | None = None
    resumed: int | None = None
    fault: Fault | None = None
    approves: bool = True
    dies: bool = False
    cancel: int | None = None

    def __repr__(self) -> str:
        values = [(field, getattr(self, field.name)) for field in fields(self)]
        shown = [
            f"    {field.name}={_indented(value)},"
            for field, value in values
            if field.name == "script" or value != field.default
        ]
        return "\n".join(["Case(", *shown, ")"])


def _indented(value: Any) -> str:
    """A value as source, to stand in an indented line."""
    shown = repr(value)
    if isinstance(value, Fault):
        shown = f"Fault({value.name!r}, {dict(value.params)!r})"
    return shown.replace("\n", "\n    ")


PROMPTLY = 3.0
"""Seconds in which a cancelled run has to come to its end."""

_NO_LIMIT = 40  # requests of a run without a limit of turns
_SPARE = 6  # requests over the limit of turns before a run is ended


@dataclass(frozen=True)
class Trial:
    """How an agent took a case.

    `exchanges` are all requests, `requests` how many of them had come at the end of each call of
    the adapter, `reports` what it reported. `seconds` is how long the last call took after it was
    told to stop. `ended` says whether every call came to its end by itself, `returned` whether it
    came to its end at all. `raised` are the agent's own errors.
    """

    case: Case
    exchanges: Sequence[Exchange]
    workspace: Workspace
    requests: tuple[int, ...]
    reports: tuple[Report | None, ...]
    raised: tuple[Exception, ...]
    ended: bool
    returned: bool
    seconds: float
    transcript: str

    @property
    def report(self) -> Report:
        """The last report, an empty one if there is none."""
        return next((report for report in reversed(self.reports) if report is not None), Report())

    @property
    def error(self) -> str:
        """What was raised, in words."""
        return "; ".join(f"{type(error).__name__}: {error}" for error in self.raised)

    def calling(self, tool: str) -> list[Exchange]:
        """The exchanges in which the model asked for this tool."""
        return [exchange for exchange in self.exchanges if tool in exchange.tools]

    def called(self, tool: str) -> bool:
        """Whether the model got to ask for this tool."""
        return bool(self.calling(tool))

    @property
    def run(self) -> VerdictRun:
        """The run for the clauses of the verdict, with what the wire cannot show."""
        case = self.case
        offered = any(self.called(tool.name) for tool in self.workspace.tools)
        effects = [self._with_id(effect) for effect in self.workspace.ledger] if offered else None
        cap = case.turns if case.resumed is None and case.tokens is None else None
        return VerdictRun(self.exchanges, Facts(effects=effects, cap=cap, ended=self.ended))

    def _with_id(self, effect: Effect) -> Effect:
        """Tools do not know the ids of their calls; a tool that was called once has only one."""
        calls = [call for exchange in self.exchanges for call in exchange.calls]
        ids = {call.id for call in calls if call.name == effect.tool}
        return structs.replace(effect, call_id=ids.pop()) if len(ids) == 1 else effect


@dataclass
class _AdapterCall:
    """One call of the adapter, in a thread of its own: it may never return."""

    adapter: Adapter
    base_url: str
    limits: Limits
    report: Report | None = None
    error: Exception | None = None
    over: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        threading.Thread(target=self._run, name="contract", daemon=True).start()

    def _run(self) -> None:
        try:
            self.report = _report(self.adapter(self.base_url, self.limits))
        except Exception as error:
            self.error = error
        finally:
            self.over.set()


class NoReport(TypeError):
    """An adapter returned what is no `Report`."""


def _report(returned: Any) -> Report | None:
    """The report, of an `async def` adapter too."""
    if inspect.isawaitable(returned):
        returned = asyncio.run(_result(returned))
    if returned is not None and not isinstance(returned, Report):
        kind = type(returned).__name__
        raise NoReport(
            f"the adapter returned {returned!r} ({kind}), not None or a Report "
            "(from fakeprovider.contract import Report)"
        )
    return returned


async def _result(returned: Awaitable[Any]) -> Any:
    return await returned


@dataclass(frozen=True)
class Stage:
    """Where cases are played: a provider, an adapter, and the seconds to wait for it."""

    provider: FakeProvider
    adapter: Adapter
    in_process: bool = False
    tools: Mapped | None = None
    patience: float = 30.0

    def play(self, case: Case) -> Trial:
        """Run the agent through the case; raises `NoReport`, and nothing else of the agent's."""
        workspace = Workspace(approves=case.approves, dies=case.dies)
        most = max(case.turns or _NO_LIMIT, case.resumed or 0) + _SPARE
        spare = 20 if case.fault is not None else 0  # repeated requests count too
        with (
            TemporaryDirectory(prefix="contract-", ignore_cleanup_errors=True) as home,
            self.provider.run(
                case.script,
                fault=case.fault,
                strict=True,
                tools=self.tools,
                check=False,
                max_requests=most + spare,
                in_process=self.in_process,
            ) as run,
        ):
            try:
                return _Play(self, case, workspace, run, Path(home)).trial()
            finally:
                workspace.release()


@dataclass
class _Play:
    """One case while it is played: the calls of the adapter, and how the run stood after each."""

    stage: Stage
    case: Case
    workspace: Workspace
    run: Run
    home: Path
    calls: list[_AdapterCall] = field(default_factory=list)
    requests: list[int] = field(default_factory=list)

    def trial(self) -> Trial:
        """Call the adapter, once more where the run is resumed."""
        case, died = self.case, self.workspace.died
        told_to_stop = self._call(case.turns)
        if case.resumed is not None or (case.dies and died.is_set()):
            told_to_stop = self._call(case.turns if case.resumed is None else case.resumed)
        seconds = time.monotonic() - told_to_stop
        for call in self.calls:
            if isinstance(call.error, NoReport):
                raise call.error
        # a process that is gone neither ends nor fails
        living = self.calls[1:] if died.is_set() else self.calls
        returned = all(call.over.is_set() for call in living)
        return Trial(
            case=case,
            exchanges=tuple(self.run.requests),
            workspace=self.workspace,
            requests=tuple(self.requests),
            reports=tuple(call.report for call in self.calls),
            raised=tuple(call.error for call in living if call.error is not None),
            ended=returned and not self.run.refused,
            returned=returned,
            seconds=seconds,
            transcript=self.run.transcript(),
        )

    def _call(self, turns: int | None) -> float:
        """Call the adapter and wait for its end; returns when it was told to stop."""
        limits = Limits(
            turns,
            self.case.tokens,
            tools=self.workspace.tools,
            decide=self.workspace.decide,
            home=self.home,
            resume=bool(self.calls),
            transport=self.run.transport if self.stage.in_process else None,
        )
        call = _AdapterCall(self.stage.adapter, self.run.base_url, limits)
        call.start()
        first = not self.calls
        self.calls.append(call)
        told_to_stop = self._wait(call, first)
        self.requests.append(len(self.run.requests))
        return told_to_stop

    def _wait(self, call: _AdapterCall, first: bool) -> float:
        """Wait for its end, or for what ends it; returns when it was told to stop."""
        begun, patience = time.monotonic(), self.stage.patience
        if first and self.case.dies:
            _either(lambda: call.over.is_set() or self.workspace.died.is_set(), patience)
        elif first and self.case.cancel is not None:
            turn = self.case.cancel
            _either(lambda: call.over.is_set() or self.run.admitted > turn, patience)
            begun = time.monotonic()
            call.limits.cancel.set()
            call.over.wait(min(PROMPTLY, patience))
        else:
            call.over.wait(patience)
        return begun


def _either(holds: Callable[[], bool], seconds: float) -> None:
    """Wait until it holds, at most so many seconds."""
    deadline = time.monotonic() + seconds
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.002)
