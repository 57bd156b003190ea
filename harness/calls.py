"""The calls of a reply on their way to results: which is next, who must be asked, running one."""

from __future__ import annotations

from harness import wording
from harness.cancel import Cancel
from harness.execution import Ended, Execution, execute
from harness.failures import judge
from harness.leg import Leg
from harness.state import PendingCall, Reading, RunState, Spent, ToolResult
from harness.toolbox import Toolbox
from harness.tools import Tool, ToolContext
from harness.trace import LateEffect, ToolProgress, ToolStart
from harness.tree import Branch, Share
from harness.ways_out import Stop, StopKind


def next_call(state: RunState, toolbox: Toolbox) -> PendingCall | None:
    """The next call to run: an effect never overtakes a call that waits for a person."""
    blocked = False
    for call in state.pending:
        tool = toolbox.get(call.call.name)
        if call.phase == "ready" and (not blocked or (tool is not None and tool.read_only)):
            return call
        blocked = blocked or call.phase in ("awaiting", "unknown")
    return None


def interruption(state: RunState) -> Stop | None:
    """The stop that undecided calls lead to, None where nobody need be asked."""
    waits = state.interruptions
    if not waits:
        return None
    asked = any(wait.type == "approval" for wait in waits)
    kind = StopKind.APPROVAL if asked else StopKind.UNKNOWN_OUTCOME
    return Stop(kind, evidence={"calls": [wait.call_id for wait in waits]})


async def perform(leg: Leg, call: PendingCall, shares: tuple[Share, ...] = ()) -> Stop | None:
    """Bring one ready call to its result; returns why the run must end, if it must.

    `shares` is what an agent that it runs may use of the run's budgets.
    """
    tool = leg.toolbox.get(call.call.name)
    if tool is None:
        _answer(leg, call, _gone(call))
    elif not call.begun and (veto := leg.condition.veto(leg.state)) is not None:
        _answer(leg, call, ToolResult(wording.vetoed(veto), "skipped"))
    elif (text := leg.cache.get(tool, call.fingerprint)) is not None:
        _answer(leg, call, ToolResult(text, cached=True))
    else:
        return await _run(leg, tool, call, shares)
    return None


def _gone(call: PendingCall) -> ToolResult:
    if call.may_have_run:
        return ToolResult(wording.interrupted(), "unknown")
    return ToolResult(wording.gone(call.call.name), "error")


def _answer(leg: Leg, call: PendingCall, result: ToolResult, ms: float = 0.0) -> None:
    call.result, call.phase = result, "done"
    leg.finish(call, ms)
    leg.save()


async def _run(leg: Leg, tool: Tool, call: PendingCall, shares: tuple[Share, ...]) -> Stop | None:
    _mark(leg, tool, call)
    leg.emit(ToolStart(leg.state.run_id, tool.name, call.call.arguments, call.call.id))
    began = leg.clock.monotonic()
    result, stop = judge(tool, await _execute(leg, tool, call, shares), leg.settings)
    leg.cache.note(tool, call.fingerprint, result.text, result.outcome)
    _answer(leg, call, result, (leg.clock.monotonic() - began) * 1000)
    return stop


def _mark(leg: Leg, tool: Tool, call: PendingCall) -> None:
    """Write down that the call starts, durably where running it again could do harm."""
    call.phase, call.begun = "started", True
    leg.state.tool_runs += 1
    if not tool.read_only:
        leg.state.writes += 1
        leg.save(durable=True)


async def _execute(leg: Leg, tool: Tool, call: PendingCall, shares: tuple[Share, ...]) -> Execution:
    signal = leg.cancel.child()
    arguments = tool.bind(call.args or {})
    if tool.takes_context:
        arguments["ctx"] = _context(leg, call, signal, shares)
    timeout = leg.settings.tool_timeout if tool.timeout is None else tool.timeout

    def late(ended: Ended) -> None:
        ok = ended.error is None
        leg.state.writes += not tool.read_only  # what was verified before may not hold any more
        leg.emit(LateEffect(leg.state.run_id, tool.name, call.call.id, ok))

    try:
        return await execute(
            tool.fn,
            arguments,
            cancel=signal,
            timeout=timeout,
            grace=leg.settings.grace,
            heeds=tool.takes_context,
            on_late=late,
        )
    finally:
        signal.close()


def _context(leg: Leg, call: PendingCall, signal: Cancel, shares: tuple[Share, ...]) -> ToolContext:
    run_id, call_id, name = leg.state.run_id, call.call.id, call.call.name

    def progress(label: str) -> None:
        if call.phase == "started":  # a tool that was given up is no longer heard
            leg.emit(ToolProgress(run_id, name, label, call_id))

    def measure(reading: str, value: float | int) -> None:
        if call.phase == "started":
            leg.state.readings.append(Reading(call.turn, reading, value))

    def spend(child: RunState) -> None:
        _spend(leg.state, call, child)

    return ToolContext(
        run_id=run_id,
        call_id=call_id,
        idempotency_key=f"{run_id}/{call.key}",
        cancel=signal,
        progress=progress,
        measure=measure,
        spend=spend,
        branch=Branch(leg.account, shares, spend),
        trace=leg.trace,
        store=leg.store,
        clock=leg.clock,
        price=leg.pricing,
    )


def _spend(state: RunState, call: PendingCall, child: RunState) -> None:
    """Bring the totals up to what the call's sub-agent has spent; says nothing twice."""
    before, now = call.spent, _spent(child)
    state.input_tokens += now.input_tokens - before.input_tokens
    state.output_tokens += now.output_tokens - before.output_tokens
    state.cost_usd += now.cost_usd - before.cost_usd
    state.unpriced += now.unpriced - before.unpriced
    state.child_turns += now.turns - before.turns
    state.estimated = state.estimated or child.estimated
    call.spent = now


def _spent(child: RunState) -> Spent:
    return Spent(
        child.input_tokens, child.output_tokens, child.cost_usd, child.unpriced, child.tree_turns
    )
