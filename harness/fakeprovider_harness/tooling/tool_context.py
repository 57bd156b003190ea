"""What a running tool is given of its run, and what an agent that it runs costs the run."""

from __future__ import annotations

from fakeprovider_harness import quantities
from fakeprovider_harness.budget.budget_tree import Branch, Share
from fakeprovider_harness.cancel import Cancel
from fakeprovider_harness.engine.run_context import RunContext
from fakeprovider_harness.state import PendingCall, Reading, RunState, Spent
from fakeprovider_harness.tools import ToolContext
from fakeprovider_harness.trace import ToolProgress


def context(
    run: RunContext, call: PendingCall, signal: Cancel, shares: tuple[Share, ...]
) -> ToolContext:
    """The context of one execution; `shares` is what an agent may use of the run's budgets."""
    run_id, call_id, name = run.state.run_id, call.call.id, call.call.name

    def progress(label: str) -> None:
        if call.phase == "started":  # a tool that was given up is no longer heard
            run.journal.emit(ToolProgress(run_id, name, label, call_id))

    def measure(reading: str, value: float | int) -> None:
        if call.phase == "started":
            run.state.readings.append(Reading(call.turn, reading, quantities.reading(value)))

    def report(child: RunState) -> None:
        spend(run.state, call, child)

    return ToolContext(
        run_id=run_id,
        call_id=call_id,
        idempotency_key=f"{run_id}/{call.key}",
        cancel=signal,
        progress=progress,
        measure=measure,
        spend=report,
        branch=Branch(run.account, shares, report),
        trace=run.journal.emit,
        store=run.journal.store,
        clock=run.clock.source,
        price=run.ledger.pricing,
    )


def spend(state: RunState, call: PendingCall, child: RunState) -> None:
    """Bring the totals up to what the call's sub-agent has spent; says nothing twice."""
    before, now = call.spent, _spent(child)
    state.input_tokens += now.input_tokens - before.input_tokens
    state.output_tokens += now.output_tokens - before.output_tokens
    state.cost_usd += now.cost_usd - before.cost_usd
    state.unpriced += now.unpriced - before.unpriced
    state.child_turns += now.turns - before.turns
    state.overrun += now.overrun - before.overrun
    state.estimated = state.estimated or child.estimated
    call.spent = now


def _spent(child: RunState) -> Spent:
    return Spent(
        child.input_tokens,
        child.output_tokens,
        child.cost_usd,
        child.unpriced,
        child.tree_turns,
        child.overrun,
    )
