"""Verifiers: what "done" means, checked by something other than the model that says so."""

from harness.verify.verdict import Verdict, broken, failed, passed, stale, unreachable
from harness.verify.verifier import Answer, Claim, Verifier

__all__ = [
    "Answer",
    "Claim",
    "Verdict",
    "Verifier",
    "broken",
    "failed",
    "passed",
    "stale",
    "unreachable",
]
