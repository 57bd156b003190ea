"""Verdicts: how a harness took what the provider did, clause by clause."""

from fakeprovider.verdict.clause import Clause, ClauseResult, Outcome
from fakeprovider.verdict.facts import BadLedger, Effect, Facts, read_effects
from fakeprovider.verdict.judging import (
    CLAUSES,
    UnknownClause,
    failing,
    render,
    to_json,
    verdict,
)

__all__ = [
    "CLAUSES",
    "BadLedger",
    "Clause",
    "ClauseResult",
    "Effect",
    "Facts",
    "Outcome",
    "UnknownClause",
    "failing",
    "read_effects",
    "render",
    "to_json",
    "verdict",
]
