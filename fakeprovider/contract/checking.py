"""`check_stop_contract`: the contract held against an agent, clause by clause."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from hypothesis import HealthCheck, Phase, Verbosity, given, settings

from fakeprovider.contract import scripts
from fakeprovider.contract.agents import Adapter, Command, Report
from fakeprovider.contract.clauses import CONTRACT, ContractClause
from fakeprovider.contract.trial import Case, Stage, Trial
from fakeprovider.errors import counted
from fakeprovider.testing import FakeProvider
from fakeprovider.testing.inline_scripts import Mapped
from fakeprovider.verdict import ClauseResult, UnknownClause


@dataclass(frozen=True, slots=True)
class Failure:
    """A clause that does not hold, and the smallest case found that shows it."""

    result: ClauseResult
    trial: Trial

    def __str__(self) -> str:
        lines = [
            f"{self.result.clause}: {self.result.detail}",
            self.result.rationale,
            repr(self.trial.case),
            self.trial.transcript,
        ]
        if self.trial.error:
            lines.append(f"the agent raised: {self.trial.error}")
        return "\n".join(lines)


class ContractBroken(AssertionError):
    """The agent breaks the contract: `clauses` are the names of those it breaks."""

    def __init__(self, failures: Sequence[Failure]) -> None:
        self.failures = tuple(failures)
        self.clauses = tuple(failure.result.clause for failure in failures)
        shown = "\n\n".join(map(str, failures))
        super().__init__(f"the stop contract is broken: {', '.join(self.clauses)}\n\n{shown}")


class CannotRun(AssertionError):
    """The agent does not get through a plain task, so that nothing can be said of its stops."""


def check_stop_contract(
    run: Adapter | Sequence[str],
    *,
    clauses: str | Collection[str] = (),
    skip: str | Collection[str] = (),
    examples: int = 5,
    in_process: bool = False,
    tools: Mapped | None = None,
    patience: float = 30.0,
) -> list[ClauseResult]:
    """Hold the contract against an agent: generated scripts, limits and faults, clause by clause.

    `run` is called with a base URL and `Limits` and returns a `Report` or None, and may be async;
    or it is a command, which gets the same from its environment. `clauses` are checked (all
    without), `skip` are not; either may be one name.
    `examples` are played per clause, each at most `patience` seconds. With `in_process` the agent
    is to use `limits.transport`, an httpx transport, and no socket is opened. `tools` maps
    `read_note`, `add_note` and `delete_note` to tools of your own, where `limits.tools` cannot be
    offered.

    Returns a result per clause: pass, not applicable, or not observable where the report does not
    promise what the clause is about. Raises `ContractBroken` with the smallest case of each clause
    that fails, `CannotRun`, `UnknownClause`, `ValueError` for what leaves nothing to check, and
    `TypeError` for an adapter that returns something else.
    """
    __tracebackhide__ = True
    _check_count(examples)
    wanted = _wanted(_names(clauses), _names(skip))
    adapter = run if callable(run) else Command(run, patience)
    if in_process and isinstance(adapter, Command):
        raise ValueError("a command needs a socket: check it without in_process=True")
    with FakeProvider(lambda: "contract") as provider:
        stage = Stage(provider, adapter, in_process, tools, patience)
        report = _report_of_a_plain_run(stage)
        outcomes = [_check(clause, stage, report, examples) for clause in wanted]
    failures = [outcome for outcome in outcomes if isinstance(outcome, Failure)]
    if failures:
        raise ContractBroken(failures)
    return [outcome for outcome in outcomes if isinstance(outcome, ClauseResult)]


def _check_count(examples: int) -> None:
    __tracebackhide__ = True
    if isinstance(examples, bool) or not isinstance(examples, int):
        raise TypeError(f"examples={examples!r}: must be a whole number, 1 or more")
    if examples < 1:
        raise ValueError(f"examples={examples}: must be 1 or more")


def _names(clauses: str | Collection[str]) -> set[str]:
    """The names of clauses, each of which there is; raises `UnknownClause`."""
    __tracebackhide__ = True
    names = {clauses} if isinstance(clauses, str) else {*clauses}
    for name in sorted(names - CONTRACT.keys()):
        raise UnknownClause(f"unknown clause {name!r}; there are: {', '.join(CONTRACT)}")
    return names


def _wanted(names: set[str], skipped: set[str]) -> list[ContractClause]:
    """The clauses to check, in the order of the contract."""
    __tracebackhide__ = True
    wanted = (names or CONTRACT.keys()) - skipped
    if not wanted:
        raise ValueError("every clause that was named is skipped: there is nothing left to check")
    return [clause for clause in CONTRACT.values() if clause.name in wanted]


def _report_of_a_plain_run(stage: Stage) -> Report:
    """What the adapter reports of a plain task; raises `CannotRun`."""
    __tracebackhide__ = True
    trial = stage.play(scripts.plain())
    refused = any(exchange.status >= 400 for exchange in trial.exchanges)
    if trial.error or not trial.ended or not trial.exchanges or refused:
        lines = [f"the agent does not get through a plain task: {_why(trial, stage.patience)}"]
        lines.append(trial.transcript)
        if isinstance(stage.adapter, Command):
            lines.append(stage.adapter.last)
        if stage.in_process and not trial.exchanges:
            lines.append(_NO_SOCKET)
        raise CannotRun("\n".join(lines)) from next(iter(trial.raised), None)
    return trial.report


def _why(trial: Trial, patience: float) -> str:
    if not trial.returned:
        return f"it was still running after {patience:g} s"
    if trial.error:
        return f"it raised {trial.error}"
    if not trial.exchanges:
        return "it made no request"
    if not trial.ended:
        return f"it did not end: it made {counted(len(trial.exchanges), 'request')}"
    refused = next(exchange for exchange in trial.exchanges if exchange.status >= 400)
    return f"request {refused.number} was refused: {refused.status} {refused.error}"


_NO_SOCKET = (
    "with in_process=True nothing listens: the agent's client has to use limits.transport, as in "
    "httpx.Client(transport=limits.transport); or leave in_process out"
)


_SEARCH = settings(
    derandomize=True,
    database=None,
    deadline=None,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
    verbosity=Verbosity.quiet,
    report_multiple_bugs=False,
)


def _check(
    clause: ContractClause, stage: Stage, report: Report, examples: int
) -> ClauseResult | Failure:
    """The result of one clause, or the smallest case that breaks it."""
    if not clause.needs(report):
        detail = f"the adapter's report does not promise it: {clause.promise}"
        return ClauseResult(
            clause.name, "not observable", detail, (), clause.rationale, clause.link
        )
    results: list[ClauseResult] = []
    failures: list[Failure] = []
    # an agent that does not do the same twice would confuse the search
    played: dict[str, Trial] = {}

    @settings(_SEARCH, max_examples=examples)
    @given(clause.cases)
    def holds(case: Case) -> None:
        trial = played.get(repr(case)) or stage.play(case)
        played[repr(case)] = trial
        result = clause.apply(trial)
        results.append(result)
        if result.failed:
            failures.append(Failure(result, trial))
            raise AssertionError(result.detail)

    try:
        holds()
    except AssertionError:
        return failures[-1]
    passes = [result for result in results if result.result == "pass"]
    return (passes or results)[-1]
