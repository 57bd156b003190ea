"""The loop: stop conditions, then what is pending, then the model; over a state that is data."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from harness import arguments, compaction, noticing, recovery, requests, verification
from harness.calls import next_calls, perform
from harness.cancel import Cancel
from harness.charging import Pricing
from harness.clock import Clock, SystemClock
from harness.context.policy import ContextPolicy
from harness.examination import examine
from harness.gate import gate, interruption
from harness.leg import Leg, guarded
from harness.models.base import Model
from harness.settings import Settings
from harness.state import RunState
from harness.stop import Condition
from harness.storage import NoStore, Storage
from harness.toolbox import Toolbox
from harness.tools import Tool
from harness.trace import Trace, no_trace
from harness.tree import Branch
from harness.verify.verifier import Verifier
from harness.ways_out import Status, Stop, StopKind


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
    arguments.check(locals())
    leg = Leg(
        state=state,
        model=model,
        toolbox=Toolbox(tools, context.tools(state) if context else ()),
        condition=guarded(stop, settings or Settings()),
        pricing=price,
        trace=trace or no_trace,
        store=store or NoStore(),
        cancel=cancel or Cancel(),
        settings=settings or Settings(),
        clock=clock or SystemClock(),
        on_text=on_text,
        verifier=verify,
        branch=branch,
        context=context,
    )
    leg.refuse_unpriced()
    if state.resumable:
        with leg.store.claim(state.run_id):
            await _go(leg)
    return state


async def _go(leg: Leg) -> None:
    leg.begin()
    recovery.recover(leg)
    try:
        while leg.state.status is Status.RUNNING:
            stop = await _step(leg)
            if stop is not None:
                leg.end(stop)
    except asyncio.CancelledError:
        leg.cancel.set("the task that ran it was cancelled")
        recovery.recover(leg)
        leg.end(Stop(StopKind.CANCELLED, evidence={"reason": leg.cancel.reason}))
        raise


async def _step(leg: Leg) -> Stop | None:
    """Stop conditions, then one pending call, then the model."""
    examine(leg)
    noticing.measure(leg)
    unpaid = await verification.check(leg)
    stop = gate(leg) or unpaid
    if stop is not None:
        return stop
    if calls := next_calls(leg):
        return await perform(leg, calls)
    policy = compaction.due(leg)
    if policy is not None and not leg.state.interruptions:
        return await compaction.compact(leg, policy)
    return interruption(leg.state) or await requests.ask(leg)
