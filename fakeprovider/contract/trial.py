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


@dataclass(frozen=True)
class Case:
    """Prints as what to paste.

    `script` is what the model does. `turns` and `tokens` limit the run, `resumed` is the limit of
    turns of a second leg (None: there is none). `fault` goes wrong on the way. `approves` is what
    the person says. With `dies` the process is gone at the first effect, and the run is resumed.
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
        shown = [f"    {one.name}={_indented(getattr(self, one.name))}," for one in _told(self)]
        return "\n".join(["Case(", *shown, ")"])


def _told(case: Case) -> list[Any]:
    own = fields(case)
    return [one for one in own if one.name == "script" or getattr(case, one.name) != one.default]


def _indented(value: Any) -> str:
    shown = repr(value)
    if isinstance(value, Fault):
        shown = f"Fault({value.name!r}, {dict(value.params)!r})"
    return shown.replace("\n", "\n    ")


_SPARE = 6  # requests over the limit of turns before a run is ended
PROMPTLY = 3.0
"""Seconds in which a cancelled run has to come to its end."""
_NO_LIMIT = 40  # requests of a run without a limit of turns


@dataclass(frozen=True)
class Trial:
    """How an agent took a case.

    `exchanges` are all requests, `legs` how many of them had come at the end of each call of the
    adapter, `reports` what it reported. `seconds` is how long the last call took after it was told
    to stop. `ended` says whether every call came to its end by itself, `returned` whether it came
    to its end at all. `error` says in words what was `raised`.
    """

    case: Case
    exchanges: Sequence[Exchange]
    workspace: Workspace
    legs: tuple[int, ...]
    reports: tuple[Report | None, ...]
    ended: bool
    seconds: float
    transcript: str
    error: str = ""
    raised: tuple[Exception, ...] = ()
    returned: bool = True

    @property
    def report(self) -> Report:
        """The last report, an empty one if there is none."""
        return next((one for one in reversed(self.reports) if one is not None), Report())

    def called(self, tool: str) -> bool:
        """Whether the model got to ask for this tool."""
        return any(tool in one.tools for one in self.exchanges)

    @property
    def facts(self) -> Facts:
        """What the wire cannot show."""
        case = self.case
        effects = [self._with_id(one) for one in self.workspace.ledger] if self.called_any else None
        cap = case.turns if case.resumed is None and case.tokens is None else None
        return Facts(effects=effects, cap=cap, ended=self.ended)

    def _with_id(self, effect: Effect) -> Effect:
        """Tools do not know the ids of their calls; a tool that was called once has only one."""
        ids = {call.id for one in self.exchanges for call in one.calls if call.name == effect.tool}
        return structs.replace(effect, call_id=ids.pop()) if len(ids) == 1 else effect

    @property
    def called_any(self) -> bool:
        """Whether any tool of the contract was asked for."""
        return any(self.called(tool.name) for tool in self.workspace.tools)


@dataclass
class _Leg:
    """One call of the adapter, in a thread of its own: it may never return."""

    adapter: Adapter
    base_url: str
    limits: Limits
    report: Report | None = None
    error: Exception | None = None
    over: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        threading.Thread(target=self._go, name="contract", daemon=True).start()

    def _go(self) -> None:
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


class Stage:
    """Where cases are played: a provider, an adapter, and the patience to wait for it."""

    def __init__(
        self,
        provider: FakeProvider,
        adapter: Adapter,
        *,
        in_process: bool = False,
        tools: Mapped | None = None,
        patience: float = 30.0,
    ) -> None:
        self._provider = provider
        self._adapter = adapter
        self._in_process = in_process
        self._tools = tools
        self._patience = patience

    def play(self, case: Case) -> Trial:
        """Run the agent through the case; raises `NoReport`, and nothing else of the agent's."""
        workspace = Workspace(approves=case.approves, dies=case.dies)
        most = max(case.turns or _NO_LIMIT, case.resumed or 0) + _SPARE
        spare = 20 if case.fault is not None else 0  # repeated requests count too
        with (
            TemporaryDirectory(prefix="contract-", ignore_cleanup_errors=True) as home,
            self._provider.run(
                case.script,
                fault=case.fault,
                strict=True,
                tools=self._tools,
                check=False,
                max_requests=most + spare,
                in_process=self._in_process,
            ) as run,
        ):
            try:
                return self._legs(case, workspace, run, Path(home))
            finally:
                workspace.release()

    def _legs(self, case: Case, workspace: Workspace, run: Run, home: Path) -> Trial:
        first = self._leg(run, case.turns, case, workspace, home)
        begun = self._wait(first, case, workspace, run)
        legs, ends = [first], [len(run.requests)]
        if case.resumed is not None or (case.dies and workspace.died.is_set()):
            limit = case.turns if case.resumed is None else case.resumed
            second = self._leg(run, limit, case, workspace, home, resume=True)
            begun = self._wait(second, None, workspace, run)
            legs.append(second)
            ends.append(len(run.requests))
        seconds = time.monotonic() - begun
        finished = [leg for leg in legs if not (leg is first and workspace.died.is_set())]
        for leg in legs:
            if isinstance(leg.error, NoReport):
                raise leg.error
        raised = tuple(leg.error for leg in finished if leg.error is not None)
        return Trial(
            case,
            tuple(run.requests),
            workspace,
            tuple(ends),
            tuple(leg.report for leg in legs),
            not run.refused and all(leg.over.is_set() for leg in finished),
            seconds,
            run.transcript(),
            "; ".join(f"{type(one).__name__}: {one}" for one in raised),
            raised,
            all(leg.over.is_set() for leg in finished),
        )

    def _leg(
        self,
        run: Run,
        turns: int | None,
        case: Case,
        workspace: Workspace,
        home: Path,
        *,
        resume: bool = False,
    ) -> _Leg:
        limits = Limits(
            turns,
            case.tokens,
            tools=workspace.tools,
            decide=workspace.decide,
            home=home,
            resume=resume,
            transport=run.transport if self._in_process else None,
        )
        leg = _Leg(self._adapter, run.base_url, limits)
        leg.start()
        return leg

    def _wait(self, leg: _Leg, case: Case | None, workspace: Workspace, run: Run) -> float:
        """Wait for the leg's end, or for what ends it; returns when it was told to stop."""
        begun = time.monotonic()
        if case is not None and case.dies:
            _either(lambda: leg.over.is_set() or workspace.died.is_set(), self._patience)
            return begun
        if case is not None and case.cancel is not None:
            wanted = case.cancel
            _either(lambda: leg.over.is_set() or run.admitted > wanted, self._patience)
            begun = time.monotonic()
            leg.limits.cancel.set()
            leg.over.wait(min(PROMPTLY, self._patience))
            return begun
        leg.over.wait(self._patience)
        return begun


def _either(holds: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.002)
