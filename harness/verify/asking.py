"""Asking a verifier of either kind, and making a verdict of however it ended."""

from __future__ import annotations

import msgspec

from harness.execution import Ended, execute
from harness.models.surrogates import mend, mend_tree
from harness.verify.verdict import Verdict, broken
from harness.verify.verifier import Claim, Verifier, verdict_of


async def asked(
    verifier: Verifier, claim: Claim, *, timeout: float | None = None, grace: float = 0.15
) -> Verdict:
    """The verdict on a claim: `error` where the verifier raises, breaks off or gives none.

    `timeout` in seconds; the verifier then has `grace` seconds to return.
    """
    execution = await execute(
        verifier,
        {"claim": claim},
        cancel=claim.cancel,
        timeout=timeout,
        grace=grace,
        heeds=True,
        on_late=lambda ended: None,
    )
    if execution.told is not None:
        return broken(f"the check {execution.told}")
    return _verdict_of(execution.ended or Ended())


def _verdict_of(ended: Ended) -> Verdict:
    error = ended.error
    if error is None:
        try:
            return _storable(verdict_of(ended.value))
        except TypeError as mistake:
            error = mistake
    return broken(mend(f"{type(error).__name__}: {error}"))


def _storable(verdict: Verdict) -> Verdict:
    """As plain data, such as a transcript and a store can hold; raises `TypeError`."""
    evidence = mend_tree(msgspec.to_builtins(verdict.evidence))
    return msgspec.structs.replace(verdict, feedback=mend(verdict.feedback), evidence=evidence)
