"""What a clause is, for verdict and contract alike, and the clauses of the verdict by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

import msgspec

from fakeprovider.journal import Exchange
from fakeprovider.registry import Registry
from fakeprovider.verdict.run import Run

Outcome: TypeAlias = Literal["pass", "fail", "not applicable", "not observable"]
Subject = TypeVar("Subject")


class ClauseResult(msgspec.Struct, frozen=True):
    """What a clause found; `evidence` are numbers of exchanges."""

    clause: str
    result: Outcome
    detail: str
    evidence: tuple[int, ...] = ()
    rationale: str = ""
    link: str = ""

    @property
    def failed(self) -> bool:
        """Whether the harness did what the clause forbids."""
        return self.result == "fail"

    def __repr__(self) -> str:
        """In short: the rationale is for those who ask."""
        return f"<{self.clause}: {self.result}, {self.detail}>"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a judge says: the outcome, a sentence, and the numbers of exchanges that show it."""

    result: Outcome
    detail: str
    evidence: tuple[int, ...] = ()


Judge: TypeAlias = Callable[[Subject], Judgement]


@dataclass(frozen=True, slots=True)
class Clause(Generic[Subject]):
    """One rule of how a harness should take what a provider does.

    `judge` is a pure function of what is judged: a run for the verdict, a trial for the contract.
    `rationale` says why it matters, `link` is the address of a public failure of its kind. With
    `ledger_only` nothing but a ledger of effects can decide it.
    """

    name: str
    rationale: str
    link: str
    judge: Judge[Subject]
    ledger_only: bool = False

    def apply(self, subject: Subject) -> ClauseResult:
        """The result for one run, or one trial."""
        judgement = self.judge(subject)
        return ClauseResult(
            self.name,
            judgement.result,
            judgement.detail,
            judgement.evidence,
            self.rationale,
            self.link,
        )


CLAUSES: Registry[Clause[Run]] = Registry(
    "clause", [f"{__package__}.{name}" for name in ("ends", "retries", "calls", "transcripts")]
)
"""Every clause of the verdict by its name."""


def clause(
    name: str, *, why: str, source: str, ledger_only: bool = False
) -> Callable[[Judge[Run]], Judge[Run]]:
    """Register the decorated function as the judge of a clause.

    `source` is a public failure of its kind, as `owner/repository#number` on GitHub.
    """
    repository, _, number = source.partition("#")
    link = f"https://github.com/{repository}/issues/{number}"

    def register(judge: Judge[Run]) -> Judge[Run]:
        CLAUSES.add(name, Clause(name, why, link, judge, ledger_only))
        return judge

    return register


def passed(detail: str, evidence: Iterable[Exchange] = ()) -> Judgement:
    """The harness did right."""
    return Judgement("pass", detail, _numbers(evidence))


def failed(detail: str, evidence: Iterable[Exchange] = ()) -> Judgement:
    """The harness did what the clause forbids."""
    return Judgement("fail", detail, _numbers(evidence))


def not_applicable(detail: str) -> Judgement:
    """The run had no occasion for it."""
    return Judgement("not applicable", detail)


def not_observable(detail: str, evidence: Iterable[Exchange] = ()) -> Judgement:
    """There was an occasion, and what was seen does not decide it."""
    return Judgement("not observable", detail, _numbers(evidence))


def _numbers(evidence: Iterable[Exchange]) -> tuple[int, ...]:
    return tuple(exchange.number for exchange in evidence)
