"""The loop: stop conditions, then what is pending, then the model; over a state that is data."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from fakeprovider_harness.budget.budget_tree import Branch
from fakeprovider_harness.budget.charging import Pricing
from fakeprovider_harness.cancel import Cancel
from fakeprovider_harness.clock import Clock
from fakeprovider_harness.context.policy import ContextPolicy
from fakeprovider_harness.engine import compaction, model_step, verification
from fakeprovider_harness.engine.call_validation import examine
from fakeprovider_harness.engine.gate import gate, interruption, measure
from fakeprovider_harness.engine.recovery import recover
from fakeprovider_harness.engine.run_arguments import RunArguments
from fakeprovider_harness.engine.run_context import RunContext
from fakeprovider_harness.engine.tool_step import next_calls, perform
from fakeprovider_harness.models.base import Model
from fakeprovider_harness.outcomes import Status, Stop, StopKind
from fakeprovider_harness.settings import Settings
from fakeprovider_harness.state import RunState, Storage
from fakeprovider_harness.stop import Condition
from fakeprovider_harness.tools import Tool
from fakeprovider_harness.trace import Trace
from fakeprovider_harness.verify.verifier import Verifier


async def arun(
    state: RunState,
    *,
    model: Model,
    stop: Condition | None,
    tools: Iterable[Tool] = (),
    price: Pricing = None,
    trace: Trace | None = None,
    store: Storage | None = None,
    cancel: Cancel | None = None,
    settings: Settings | None = None,
    clock: Clock | None = None,
    on_text: Callable[[str], None] | None = None,
    verify: Verifier | None = None,
    context: ContextPolicy | None = None,
    branch: Branch | None = None,
) -> RunState:
    """Move the run on, in place, until it ends or a person is needed; returns it.

    A stop of the run is never an exception: read `state.status` and `state.stop`. A run that is
    completed or failed is returned as it is. `stop` None means no limit. `price` is in USD per
    million tokens, one `Price` or a `PriceTable`. With `verify` a reply that claims to be done
    completes the run only once its check has passed. `context` says what requests leave out once
    the history has grown too long. `on_text` is told the text of a streamed reply as it comes, and
    `trace` each event.

    `branch` is for a tool that runs an agent: `ctx.branch`, the place of that agent in the tree.

    Raises `UnknownPrice` where a budget has no price to go by, `ValueError` for tools that cannot
    be offered and for a model that retries already where `settings` say when to retry, `TypeError`
    for an argument that is something else, and says what to pass; `RunBusy` and `StaleRun` where
    another process has the run. Nothing was sent then.
    """
    run = RunContext(RunArguments(**locals()))
    if state.resumable:
        with run.journal.store.claim(state.run_id):
            await _go(run)
    return state


async def _go(run: RunContext) -> None:
    """From a start or a resume to the next stop."""
    run.begin()
    recover(run)
    try:
        while run.state.status is Status.RUNNING:
            stop = await _step(run)
            if stop is not None:
                run.end(stop)
    except asyncio.CancelledError:
        run.cancel.set("the task that ran it was cancelled")
        recover(run)
        run.end(Stop(StopKind.CANCELLED, evidence={"reason": run.cancel.reason}))
        raise


async def _step(run: RunContext) -> Stop | None:
    """Stop conditions, then the pending calls that are next, then the model."""
    if run.state.pending:
        examine(run)
    measure(run)
    unpaid = await verification.check(run) if run.verifier is not None else None
    stop = gate(run) or unpaid
    if stop is not None:
        return stop
    if run.state.pending and (calls := next_calls(run)):
        return await perform(run, calls)
    if waits_for_person := interruption(run.state):
        return waits_for_person
    if run.context is not None and model_step.compaction_due(run):
        return await compaction.compact(run, run.context)
    return await model_step.ask(run)
