"""What a leg finds of an earlier process: a request in flight, calls that were running."""

from __future__ import annotations

from harness import decisions, descent, wording
from harness.leg import Leg
from harness.models.base import Usage
from harness.state import PendingCall
from harness.transcript import settle_call


def recover(leg: Leg) -> None:
    """Charge what was in flight; run again what may be; ask about what may not."""
    _recover_request(leg)
    descent.catch_up(leg)
    for call in list(leg.state.pending):
        if call.phase == "started":
            _recover_call(leg, call)
        else:
            decisions.review(leg, call)
        leg.finish(call)


def _recover_request(leg: Leg) -> None:
    """The request was sent, and may have been charged in full: it is, once, and flagged."""
    request = leg.state.request
    if request is not None:
        usage = Usage(request.prompt_bound, request.output_bound, estimated=True)
        leg.state.request = None
        leg.lose(usage, descent.IN_FLIGHT)


def _recover_call(leg: Leg, call: PendingCall) -> None:
    tool = leg.toolbox.get(call.call.name)
    if tool is not None and tool.repeatable:
        call.phase = "ready"
    elif leg.settings.unknown == "tell":
        settle_call(call, wording.interrupted(), "unknown")
    else:
        call.phase = "unknown"
