"""A claim to be done is checked before anybody believes it: once per claim, on the final state."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from fakeprovider_harness.budget.charging import Pricing
from fakeprovider_harness.cancel import Cancel
from fakeprovider_harness.engine.completion import checked, waits
from fakeprovider_harness.engine.metered_model import NotAdmitted
from fakeprovider_harness.engine.run_context import Leg
from fakeprovider_harness.engine.side import ask_beside
from fakeprovider_harness.models.base import Message, Model, ModelReply, Usage
from fakeprovider_harness.outcomes import Stop
from fakeprovider_harness.state import Check
from fakeprovider_harness.tooling import model_messages
from fakeprovider_harness.trace import Verification
from fakeprovider_harness.verify.verifier import Claim, Verdict, asked

NOTHING_DONE = ("invalid_args", "denied", "not_started", "skipped")
"""Outcomes of calls that did not run."""


async def check(leg: Leg) -> Stop | None:
    """Have the last reply's claim checked, if it makes one; a failure is told to the model.

    A check that something was written during is made again: its evidence is stale. Returns why
    the check could not be paid for, if that is so: the claim is then still to be checked.
    """
    while _due(leg) and not leg.cancel.cancelled:
        began, writes = leg.clock.monotonic(), leg.state.writes
        asking = _Asking(leg)
        verdict = await _verdict(leg, asking)
        if asking.refused is not None:
            return asking.refused
        if not leg.cancel.cancelled:
            _record(leg, verdict, writes, (leg.clock.monotonic() - began) * 1000)
    return None


class _Asking:
    """Sends a verifier's requests through the leg; `refused` is the budget that had no room."""

    def __init__(self, leg: Leg) -> None:
        self._leg = leg
        self.refused: Stop | None = None

    async def __call__(
        self, prompt: Sequence[Message], model: Model, price: Pricing, max_output: int | None
    ) -> ModelReply | None:
        try:
            return await ask_beside(
                self._leg, "check", prompt, model=model, price=price, max_output=max_output
            )
        except NotAdmitted as refused:
            self.refused = refused.stop
            return None


def _due(leg: Leg) -> bool:
    state = leg.state
    if leg.verifier is None or state.claim is None or not waits(state):
        return False
    check = checked(state)
    return check is None or check.writes != state.writes


async def _verdict(leg: Leg, asking: _Asking) -> Verdict:
    """The verifier's word; one that breaks is asked again, and no model call comes in between."""
    verdict = await _asked(leg, asking)
    for _ in range(leg.settings.verifier_retries):
        if verdict.kind != "error" or leg.cancel.cancelled or asking.refused is not None:
            break
        verdict = await _asked(leg, asking)
    return verdict


async def _asked(leg: Leg, asking: _Asking) -> Verdict:
    signal, settings = leg.cancel.child(), leg.settings
    try:
        return await asked(
            leg.verifier,  # type: ignore[arg-type]  # not None where a check is due
            _claim(leg, signal, asking),
            timeout=settings.verifier_timeout,
            grace=settings.grace,
        )
    finally:
        signal.close()


def _claim(leg: Leg, signal: Cancel, asking: _Asking) -> Claim:
    def charge(usage: Usage, cost: Decimal | None) -> None:
        leg.charge_beside("check", usage, cost)

    return Claim(leg.state.claim or "", leg.state, signal, asking, charge, _last_write(leg))


def _last_write(leg: Leg) -> int:
    """Where the last result stands of a call that may have had an effect; -1 if nowhere."""
    messages = leg.state.messages
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if message.role == "tool" and message.outcome not in NOTHING_DONE:
            tool = leg.toolbox.get(message.name or "")
            if tool is None or not tool.read_only:
                return place
    return -1


def _record(leg: Leg, verdict: Verdict, writes: int, ms: float) -> None:
    state = leg.state
    turn = len(state.turns)
    state.checks.append(
        Check(turn, state.legs, verdict.kind, verdict.feedback, writes, verdict.evidence)
    )
    if verdict.kind == "fail":
        count = sum(check.verdict == "fail" for check in state.checks)
        text = model_messages.not_done(verdict.feedback, count, leg.settings.verifications)
        state.messages.append(Message("user", text))
    leg.save()
    leg.emit(Verification(state.run_id, turn, verdict.kind, verdict.feedback, round(ms, 3)))
