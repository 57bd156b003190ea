"""What a leg finds of an earlier process: a request in flight, calls that were running."""

from __future__ import annotations

from harness import fingerprint, wording
from harness.leg import Leg
from harness.models.base import Usage
from harness.state import PendingCall
from harness.transcript import settle_call


def recover(leg: Leg) -> None:
    """Charge what was in flight; run again what may be; ask about what may not."""
    _recover_request(leg)
    for call in list(leg.state.pending):
        if call.phase == "started":
            _recover_call(leg, call)
        elif call.phase in ("ready", "awaiting") and not _as_examined(leg, call):
            call.phase, call.decision = "new", None
        leg.finish(call)


def _recover_request(leg: Leg) -> None:
    """The request was sent, and may have been charged in full: it is, once, and flagged."""
    request = leg.state.request
    if request is not None:
        usage = Usage(request.prompt_bound, request.output_bound, estimated=True)
        leg.state.request = None
        leg.lose(usage, "in flight when the process ended")


def _recover_call(leg: Leg, call: PendingCall) -> None:
    tool = leg.toolbox.get(call.call.name)
    if tool is not None and tool.repeatable:
        call.phase = "ready"
    elif leg.settings.unknown == "tell":
        settle_call(call, wording.interrupted(), "unknown")
    else:
        call.phase = "unknown"


def _as_examined(leg: Leg, call: PendingCall) -> bool:
    """A decision is for one call, its arguments and the tool as it was; else it counts for none."""
    tool = leg.toolbox.get(call.call.name)
    if tool is not None and fingerprint.of_declaration(tool.spec) != call.declaration:
        return False
    decided = call.fingerprint if call.decision is None else call.decision.fingerprint
    return fingerprint.of_call(call.call.name, call.args or {}) == call.fingerprint == decided
