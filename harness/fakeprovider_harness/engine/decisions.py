"""Decisions of people on calls, as a leg finds them: still fitting, in time, and told of."""

from __future__ import annotations

from fakeprovider_harness.engine.run_context import Leg
from fakeprovider_harness.engine.transcript import settle_call
from fakeprovider_harness.models.base import Call
from fakeprovider_harness.state import PendingCall
from fakeprovider_harness.tooling import fingerprint, model_messages
from fakeprovider_harness.trace import Decided


def review(leg: Leg, call: PendingCall) -> None:
    """Take in what was decided on a call, or not decided in time, since the last leg."""
    tell(leg, call)
    if call.phase in ("ready", "awaiting") and not _as_examined(leg, call):
        call.phase, call.decision = "new", None
        call.edited = False
    elif call.phase == "ready" and call.edited:
        _check_edit(leg, call)
    elif call.phase == "awaiting" and _expired(leg, call):
        limit = leg.settings.approval_expiry or 0
        settle_call(call, model_messages.undecided(limit), "not_started")


def tell(leg: Leg, call: PendingCall) -> None:
    """Tell the trace of a decision, once: who decided what, and when."""
    decision = call.decision
    if decision is None or call.heard:
        return
    call.heard = True
    leg.emit(
        Decided(
            leg.state.run_id,
            call.call.name,
            call.call.id,
            decision.approved,
            decision.reason,
            decision.by,
            decision.at,
            edited=fingerprint.canonical(call.args) if call.edited else None,
            standing=decision.standing,
        )
    )


def _as_examined(leg: Leg, call: PendingCall) -> bool:
    """A decision is for one call, its arguments and the tool as it was; else it counts for none."""
    tool = leg.toolbox.get(call.call.name)
    if tool is not None and tool.declaration != call.declaration:
        return False
    decided = call.fingerprint if call.decision is None else call.decision.fingerprint
    return fingerprint.of_call(call.call.name, call.args or {}) == call.fingerprint == decided


def _check_edit(leg: Leg, call: PendingCall) -> None:
    """Arguments that a person wrote must fit like the model's; else that person is asked again."""
    tool = leg.toolbox.get(call.call.name)
    changed = Call(call.call.id, call.call.name, fingerprint.canonical(call.args))
    checked = leg.toolbox.check(changed)
    if tool is not None and checked.arguments is not None:
        call.signature = fingerprint.of_call(tool.name, tool.essential(checked.arguments))
        return
    call.phase, call.decision, call.note = "awaiting", None, checked.complaint
    call.asked = leg.clock.time()


def _expired(leg: Leg, call: PendingCall) -> bool:
    limit = leg.settings.approval_expiry
    return limit is not None and leg.clock.time() - call.asked >= limit
