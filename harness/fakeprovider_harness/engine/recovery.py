"""What a resumed run finds of an earlier process: a request in flight, calls that were running.

A sub-agent saves what it spends; its parent learns of it at once, but saves later. So a parent that
is taken up again catches up first: its limits hold what was really spent, and a sub-agent that is
never taken up again is on the bill all the same.
"""

from __future__ import annotations

from fakeprovider_harness.engine.call_validation import review
from fakeprovider_harness.engine.run_context import RunContext
from fakeprovider_harness.engine.transcript import settle_call
from fakeprovider_harness.models.base import Usage
from fakeprovider_harness.state import LostRequest, PendingCall, RunState, Storage
from fakeprovider_harness.tooling import model_messages
from fakeprovider_harness.tooling.tool_context import spend


def recover(run: RunContext) -> None:
    """Charge what was in flight; run again what may be; ask about what may not."""
    _recover_request(run)
    catch_up(run)
    for call in list(run.state.pending):
        if call.phase == "started":
            _recover_call(run, call)
        else:
            review(run, call)
        run.journal.finish(call)


def _recover_request(run: RunContext) -> None:
    """The request was sent, and may have been charged in full: it is, once, and flagged."""
    request = run.state.request
    if request is not None:
        usage = Usage(request.prompt_bound, request.output_bound, estimated=True)
        run.state.request = None
        run.ledger.charge_lost(usage, IN_FLIGHT)


def _recover_call(run: RunContext, call: PendingCall) -> None:
    tool = run.toolbox.get(call.call.name)
    if tool is not None and tool.repeatable:
        call.phase = "ready"
    elif run.settings.unknown == "tell":
        settle_call(call, model_messages.interrupted(), "unknown")
    else:
        call.phase = "unknown"


IN_FLIGHT = "in flight when the process ended"


def catch_up(run: RunContext) -> None:
    """Bring the totals of the run up to what its unfinished sub-agents have spent."""
    _catch_up(run.state, run.journal.store)
    run.account.charged()


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
