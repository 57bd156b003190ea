"""A claim to be done is checked before anybody believes it: once per claim, on the final state."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from fakeprovider_harness.budget.charging import Pricing
from fakeprovider_harness.cancel import Cancel
from fakeprovider_harness.engine.gate import checked, waits
from fakeprovider_harness.engine.model_step import NotAdmitted, ask_beside
from fakeprovider_harness.engine.run_context import RunContext
from fakeprovider_harness.models.base import Message, Model, ModelReply, Usage
from fakeprovider_harness.outcomes import Stop
from fakeprovider_harness.state import Check
from fakeprovider_harness.tooling import model_messages
from fakeprovider_harness.trace import Verification
from fakeprovider_harness.verify.verifier import Claim, Verdict, asked

NOTHING_DONE = ("invalid_args", "denied", "not_started", "skipped")
"""Outcomes of calls that did not run."""


async def check(run: RunContext) -> Stop | None:
    """Have the last reply's claim checked, if it makes one; a failure is told to the model.

    A check that something was written during is made again: its evidence is stale. Returns why
    the check could not be paid for, if that is so: the claim is then still to be checked.
    """
    while _due(run) and not run.cancel.cancelled:
        began, writes = run.clock.monotonic(), run.state.writes
        asking = _Asking(run)
        verdict = await _verdict(run, asking)
        if asking.refused is not None:
            return asking.refused
        if not run.cancel.cancelled:
            _record(run, verdict, writes, (run.clock.monotonic() - began) * 1000)
    return None


class _Asking:
    """Sends a verifier's requests through the run; `refused` is the budget that had no room."""

    def __init__(self, run: RunContext) -> None:
        self._run = run
        self.refused: Stop | None = None

    async def __call__(
        self, prompt: Sequence[Message], model: Model, price: Pricing, max_output: int | None
    ) -> ModelReply | None:
        try:
            return await ask_beside(
                self._run, "check", prompt, model=model, price=price, max_output=max_output
            )
        except NotAdmitted as refused:
            self.refused = refused.stop
            return None


def _due(run: RunContext) -> bool:
    state = run.state
    if run.verifier is None or state.claim is None or not waits(state):
        return False
    check = checked(state)
    return check is None or check.writes != state.writes


async def _verdict(run: RunContext, asking: _Asking) -> Verdict:
    """The verifier's word; one that breaks is asked again, and no model call comes in between."""
    verdict = await _asked(run, asking)
    for _ in range(run.settings.verifier_retries):
        if verdict.kind != "error" or run.cancel.cancelled or asking.refused is not None:
            break
        verdict = await _asked(run, asking)
    return verdict


async def _asked(run: RunContext, asking: _Asking) -> Verdict:
    signal, settings = run.cancel.child(), run.settings
    try:
        return await asked(
            run.verifier,  # type: ignore[arg-type]  # not None where a check is due
            _claim(run, signal, asking),
            timeout=settings.verifier_timeout,
            grace=settings.grace,
        )
    finally:
        signal.close()


def _claim(run: RunContext, signal: Cancel, asking: _Asking) -> Claim:
    def charge(usage: Usage, cost: Decimal | None) -> None:
        run.ledger.charge_side("check", usage, cost)

    return Claim(run.state.claim or "", run.state, signal, asking, charge, _last_write(run))


def _last_write(run: RunContext) -> int:
    """Where the last result stands of a call that may have had an effect; -1 if nowhere."""
    messages = run.state.messages
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if message.role == "tool" and message.outcome not in NOTHING_DONE:
            tool = run.toolbox.get(message.name or "")
            if tool is None or not tool.read_only:
                return place
    return -1


def _record(run: RunContext, verdict: Verdict, writes: int, ms: float) -> None:
    state = run.state
    turn = len(state.turns)
    state.checks.append(
        Check(turn, state.legs, verdict.kind, verdict.feedback, writes, verdict.evidence)
    )
    if verdict.kind == "fail":
        count = sum(check.verdict == "fail" for check in state.checks)
        text = model_messages.not_done(verdict.feedback, count, run.settings.verifications)
        state.messages.append(Message("user", text))
    run.journal.save()
    run.journal.emit(Verification(state.run_id, turn, verdict.kind, verdict.feedback, round(ms, 3)))
