"""The calls of a reply on their way to results: which are next, and running them side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from fakeprovider_harness.engine.gate import gate
from fakeprovider_harness.engine.run_context import Leg
from fakeprovider_harness.engine.tool_runner import start
from fakeprovider_harness.outcomes import Stop, weightiest
from fakeprovider_harness.state import PendingCall


def next_calls(leg: Leg) -> list[PendingCall]:
    """The calls to run next: the reads up to the next effect together, an effect alone.

    Effects happen in call order, and none overtakes a call that waits for a person; a read does.
    """
    reads: list[PendingCall] = []
    blocked = False
    for call in leg.state.pending:
        if call.phase == "ready" and _reads(leg, call):
            if len(reads) == leg.settings.parallel or _answers(leg, reads, call):
                break
            reads.append(call)
        elif call.phase == "ready" and not blocked:
            return reads or [call]
        blocked = blocked or call.phase in ("awaiting", "unknown")
    return reads


def _reads(leg: Leg, call: PendingCall) -> bool:
    tool = leg.toolbox.get(call.call.name)
    return tool is not None and tool.read_only and not tool.final


def _answers(leg: Leg, reads: Sequence[PendingCall], call: PendingCall) -> bool:
    """Whether one of `reads` will have the answer to `call`, if the results of both are cached."""
    tool = leg.toolbox.get(call.call.name)
    cached = tool is not None and leg.cache.covers(tool)
    return cached and any(call.fingerprint == read.fingerprint for read in reads)


async def perform(leg: Leg, calls: Sequence[PendingCall]) -> Stop | None:
    """Bring ready calls to their results; returns why the run must end, if it must.

    The gate is passed before each of them starts, and those that have started come to their end
    whatever becomes of the others: a result is never lost to a sibling that failed.
    """
    agents = sum(_runs_agent(leg, call) for call in calls)
    shares = leg.account.shares(agents)
    first, *others = calls
    work = start(leg, first, shares)
    if not others:
        return None if work is None else await work
    tasks = [] if work is None else [asyncio.ensure_future(work)]
    try:
        for call in others:
            if gate(leg) is not None:
                break
            if (work := start(leg, call, shares)) is not None:
                tasks.append(asyncio.ensure_future(work))
        found = await asyncio.gather(*tasks)
    except BaseException:  # no tool's doing, a store's for one: nothing is left running behind it
        await _end(tasks)
        raise
    return weightiest([stop for stop in found if stop is not None])


def _runs_agent(leg: Leg, call: PendingCall) -> bool:
    tool = leg.toolbox.get(call.call.name)
    return tool is not None and tool.runs_agent


async def _end(tasks: Sequence[asyncio.Future[Stop | None]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
