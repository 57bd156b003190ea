"""What a clause of the contract is, and the ways to judge by the wire and by the ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from hypothesis.strategies import SearchStrategy

from fakeprovider.contract.agents import Report
from fakeprovider.contract.trial import Case, Trial
from fakeprovider.journal import Exchange
from fakeprovider.verdict import CLAUSES as WIRE
from fakeprovider.verdict import ClauseResult, Outcome, verdict

Judged: TypeAlias = tuple[Outcome, str, tuple[int, ...]]
Judge: TypeAlias = Callable[[Trial], Judged]


@dataclass(frozen=True, slots=True)
class ContractClause:
    """One rule, the cases that put it to the test, and how a trial of one is judged.

    `needs` says whether a report promises what the clause is about; `promise` names that.
    """

    name: str
    rationale: str
    cases: SearchStrategy[Case]
    judge: Judge
    link: str = ""
    needs: Callable[[Report], bool] = lambda report: True
    promise: str = ""

    def apply(self, trial: Trial) -> ClauseResult:
        """The result for one trial."""
        result, detail, evidence = self.judge(trial)
        return ClauseResult(self.name, result, detail, evidence, self.rationale, self.link)


def by_wire(name: str, cases: SearchStrategy[Case]) -> ContractClause:
    """A clause of the verdict, put to the test by these cases."""
    wire = WIRE[name]

    def judge(trial: Trial) -> Judged:
        found = verdict(trial.exchanges, trial.facts, only=[name])[0]
        return found.result, found.detail, found.evidence

    return ContractClause(name, wire.rationale, cases, judge, wire.link)


def passed(detail: str) -> Judged:
    """The agent did right."""
    return "pass", detail, ()


def failed(detail: str, evidence: Iterable[Exchange] = ()) -> Judged:
    """The agent did what the clause forbids."""
    return "fail", detail, tuple(exchange.number for exchange in evidence)


def not_applicable(detail: str) -> Judged:
    """There was no occasion for it."""
    return "not applicable", detail, ()
