"""What sub-agents had spent when the process died: read from their own runs, before anything else.

A sub-agent saves what it spends; its parent learns of it at once, but saves later. So a parent that
is taken up again catches up first: its limits hold what was really spent, and a sub-agent that is
never taken up again is on the bill all the same.
"""

from __future__ import annotations

from harness.contexts import spend
from harness.leg import Leg
from harness.models.base import Usage
from harness.state import LostRequest, RunState
from harness.storage import Storage

IN_FLIGHT = "in flight when the process ended"


def catch_up(leg: Leg) -> None:
    """Bring the totals of the run up to what its unfinished sub-agents have spent."""
    _catch_up(leg.state, leg.store)
    leg.account.charged()


def _catch_up(state: RunState, store: Storage) -> bool:
    """Whether there was anything to catch up with."""
    changed = False
    for call in state.pending:
        child = store.find(f"{state.run_id}/{call.key}") if call.begun else None
        if child is not None and call.result is None:
            if _charge_in_flight(child) | _catch_up(child, store):
                store.save(child)
            spend(state, call, child)
            changed = True
    return changed


def _charge_in_flight(child: RunState) -> bool:
    """A request that was sent may have been charged in full: it is, once, and flagged."""
    request = child.request
    if request is None:
        return False
    usage = Usage(request.prompt_bound, request.output_bound, estimated=True)
    child.request = None
    child.charge(usage, request.cost_usd)
    child.lost.append(LostRequest(len(child.turns) + 1, usage, request.cost_usd, IN_FLIGHT))
    return True
