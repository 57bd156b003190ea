"""What a clause is: a name, why it matters, a public failure of its kind, and a pure judgement."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import msgspec

from fakeprovider.journal import Exchange
from fakeprovider.verdict.facts import Facts
from fakeprovider.verdict.run import Run

Outcome: TypeAlias = Literal["pass", "fail", "not applicable", "not observable"]


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
class Finding:
    """What a judgement says."""

    result: Outcome
    detail: str
    evidence: tuple[int, ...] = ()


Judge: TypeAlias = Callable[[Run, Facts], Finding]


@dataclass(frozen=True, slots=True)
class Clause:
    """One rule of how a harness should take what a provider does."""

    name: str
    rationale: str
    link: str
    judge: Judge

    def apply(self, run: Run, facts: Facts) -> ClauseResult:
        """The result for one run."""
        found = self.judge(run, facts)
        return ClauseResult(
            self.name, found.result, found.detail, found.evidence, self.rationale, self.link
        )


def passed(detail: str, evidence: Iterable[Exchange] = ()) -> Finding:
    """The harness did right."""
    return Finding("pass", detail, _numbers(evidence))


def failed(detail: str, evidence: Iterable[Exchange] = ()) -> Finding:
    """The harness did what the clause forbids."""
    return Finding("fail", detail, _numbers(evidence))


def not_applicable(detail: str) -> Finding:
    """The run had no occasion for it."""
    return Finding("not applicable", detail)


def not_observable(detail: str, evidence: Iterable[Exchange] = ()) -> Finding:
    """There was an occasion, and what was seen does not decide it."""
    return Finding("not observable", detail, _numbers(evidence))


def _numbers(evidence: Iterable[Exchange]) -> tuple[int, ...]:
    return tuple(exchange.number for exchange in evidence)


def github(reference: str) -> str:
    """The address of `owner/repository#number`."""
    repository, _, number = reference.partition("#")
    return f"https://github.com/{repository}/issues/{number}"
