"""A claim to be done is checked before anybody believes it: once per claim, on the final state."""

from __future__ import annotations

from decimal import Decimal

import msgspec

from harness import wording
from harness.cancel import Cancel
from harness.completion import checked, waits
from harness.execution import Ended, execute
from harness.leg import Leg
from harness.models.base import Message, Usage
from harness.models.surrogates import mend, mend_tree
from harness.state import Check
from harness.trace import Verification
from harness.verify.verdict import Verdict, broken
from harness.verify.verifier import Claim, verdict_of


async def check(leg: Leg) -> None:
    """Have the last reply's claim checked, if it makes one; a failure is told to the model.

    A check that something was written during is made again: its evidence is stale.
    """
    while _due(leg) and not leg.cancel.cancelled:
        began, writes = leg.clock.monotonic(), leg.state.writes
        verdict = await _verdict(leg)
        if not leg.cancel.cancelled:
            _record(leg, verdict, writes, (leg.clock.monotonic() - began) * 1000)


def _due(leg: Leg) -> bool:
    state = leg.state
    if leg.verifier is None or state.claim is None or not waits(state):
        return False
    check = checked(state)
    return check is None or check.writes != state.writes


async def _verdict(leg: Leg) -> Verdict:
    """The verifier's word; one that breaks is asked again, and no model call comes in between."""
    verdict = await _asked(leg)
    for _ in range(leg.settings.verifier_retries):
        if verdict.kind != "error" or leg.cancel.cancelled:
            break
        verdict = await _asked(leg)
    return verdict


async def _asked(leg: Leg) -> Verdict:
    signal = leg.cancel.child()
    try:
        execution = await execute(
            leg.verifier,  # type: ignore[arg-type]  # not None where a check is due
            {"claim": _claim(leg, signal)},
            cancel=signal,
            timeout=leg.settings.verifier_timeout,
            grace=leg.settings.grace,
            heeds=True,
            on_late=lambda ended: None,
        )
    finally:
        signal.close()
    if execution.told is not None:
        return broken(f"the check {execution.told}")
    return _verdict_of(execution.ended)


def _verdict_of(ended: Ended | None) -> Verdict:
    error = ended.error if ended is not None else None
    if error is None:
        try:
            return _storable(verdict_of(ended.value if ended is not None else None))
        except TypeError as mistake:
            error = mistake
    return broken(mend(f"{type(error).__name__}: {error}"))


def _storable(verdict: Verdict) -> Verdict:
    """As plain data, such as a transcript and a store can hold; raises `TypeError`."""
    evidence = mend_tree(msgspec.to_builtins(verdict.evidence))
    return msgspec.structs.replace(verdict, feedback=mend(verdict.feedback), evidence=evidence)


def _claim(leg: Leg, signal: Cancel) -> Claim:
    def charge(usage: Usage, cost: Decimal | None) -> None:
        leg.state.charge(usage, cost)

    return Claim(leg.state.claim or "", leg.state, signal, charge)


def _record(leg: Leg, verdict: Verdict, writes: int, ms: float) -> None:
    state = leg.state
    turn = len(state.turns)
    state.checks.append(
        Check(turn, state.legs, verdict.kind, verdict.feedback, writes, verdict.evidence)
    )
    if verdict.kind == "fail":
        count = sum(check.verdict == "fail" for check in state.checks)
        text = wording.not_done(verdict.feedback, count, leg.settings.verifications)
        state.messages.append(Message("user", text))
    leg.save()
    leg.emit(Verification(state.run_id, turn, verdict.kind, verdict.feedback, round(ms, 3)))
