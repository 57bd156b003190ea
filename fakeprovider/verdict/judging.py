"""A run judged by the clauses, and the results as JSON and as lines for a person."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import msgspec

from fakeprovider.journal import Exchange
from fakeprovider.verdict.clause import CLAUSES, Clause, ClauseResult
from fakeprovider.verdict.facts import UNKNOWN, Facts
from fakeprovider.verdict.run import Run

ANY = "any"
"""In place of a name: all of them."""

LEDGER_ONLY = tuple(clause.name for clause in CLAUSES.values() if clause.ledger_only)
"""Clauses that only a ledger of effects can decide."""


class UnknownClause(ValueError):
    """A clause that does not exist; says which ones do."""


def verdict(
    exchanges: Iterable[Exchange], facts: Facts = UNKNOWN, *, only: Collection[str] = ()
) -> list[ClauseResult]:
    """How a harness took one run: a result for each clause, or for those named.

    `exchanges` are those of one run, in any order. Pure. Raises `UnknownClause`.
    """
    run = Run(exchanges, facts)
    return [clause.apply(run) for clause in _named(only)]


def failing(results: Sequence[ClauseResult], names: Collection[str]) -> list[ClauseResult]:
    """The failed results among those named; `any` names them all. Raises `UnknownClause`."""
    wanted = {clause.name for clause in _named(names)} if names else set()
    return [result for result in results if result.failed and result.clause in wanted]


def _named(names: Collection[str]) -> list[Clause[Run]]:
    """The clauses of these names, in the order of the registry; all of them without names."""
    if not names or ANY in names:
        return list(CLAUSES.values())
    for name in names:
        if name not in CLAUSES:
            known = ", ".join((*CLAUSES, ANY))
            raise UnknownClause(f"unknown clause {name!r}; there are: {known}")
    return [CLAUSES[name] for name in CLAUSES if name in names]


def to_json(results: Sequence[ClauseResult]) -> bytes:
    """`{"clauses": [...]}`."""
    return msgspec.json.encode({"clauses": results})


def render(results: Sequence[ClauseResult]) -> str:
    """Lines for a person: what failed first, then the rest."""
    ordered = sorted(results, key=lambda result: not result.failed)
    width = max((len(result.clause) for result in results), default=0)
    return "\n".join(_line(result, width) for result in ordered)


def _line(result: ClauseResult, width: int) -> str:
    numbers = f" (exchange {_first_few(result.evidence)})" if result.evidence else ""
    return f"{result.result:14} {result.clause:{width}}  {result.detail}{numbers}"


def _first_few(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:5]))
    return shown if len(numbers) <= 5 else f"{shown} and {len(numbers) - 5} more"
