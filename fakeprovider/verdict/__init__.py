"""Verdicts: how a harness took what the provider did, clause by clause."""

from fakeprovider.verdict.clause import CLAUSES, Clause, ClauseResult, Outcome
from fakeprovider.verdict.facts import BadLedger, Effect, Facts, read_effects
from fakeprovider.verdict.judging import (
    ANY,
    LEDGER_ONLY,
    UnknownClause,
    failing,
    render,
    to_json,
    verdict,
)

__all__ = [
    "ANY",
    "CLAUSES",
    "LEDGER_ONLY",
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
