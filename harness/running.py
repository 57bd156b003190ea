"""One call: answered without being run, or run, perhaps again, until it has its result."""

from __future__ import annotations

import random
from collections.abc import Awaitable

import msgspec

from harness import wording
from harness.contexts import context
from harness.execution import Ended, Execution, execute
from harness.failures import judge, may_try_again
from harness.fingerprint import canonical
from harness.gate import gate
from harness.leg import Leg
from harness.models.race import SignalFired, unless
from harness.state import PendingCall, ToolResult
from harness.tools import Tool
from harness.trace import LateEffect, Note, ToolStart
from harness.tree import Share
from harness.ways_out import Stop

PAUSE, LONGEST = 0.2, 5.0
"""Seconds before a tool is tried again: up to `PAUSE`, twice that, and so on up to `LONGEST`."""


def start(
    leg: Leg, call: PendingCall, shares: tuple[Share, ...] = ()
) -> Awaitable[Stop | None] | None:
    """Start a ready call: it is marked now, the rest is awaited; None if it needs no running.

    What is awaited is why the run must end, None if it need not. `shares` is what an agent that
    the call runs may use of the run's budgets.
    """
    tool = leg.toolbox.get(call.call.name)
    if tool is not None and _lapsed(leg, call):
        call.phase, call.decision, call.asked = "awaiting", None, leg.clock.time()
        doubt = f"{call.note}; " if call.note == wording.REPEATS_UNKNOWN else ""
        call.note = doubt + wording.EXPIRED
        return None
    answer = _gone(call) if tool is None else _unrun(leg, tool, call)
    if tool is None or answer is not None:
        _answer(leg, call, answer or _gone(call))
        return None
    _mark(leg, tool, call)
    leg.emit(ToolStart(leg.state.run_id, tool.name, _arguments(call), call.call.id))
    return _run(leg, tool, call, shares)


def _unrun(leg: Leg, tool: Tool, call: PendingCall) -> ToolResult | None:
    """The result of a call that is not to be run; None if it is."""
    if not call.begun and (veto := leg.condition.veto(leg.state)) is not None:
        return ToolResult(wording.vetoed(veto), "skipped")
    if tool.final and (failed := _failed_before(leg, call)):
        return ToolResult(wording.not_finished(failed), "error")
    if (text := leg.cache.get(tool, call.fingerprint)) is not None:
        return ToolResult(text, cached=True)
    return None


def _gone(call: PendingCall) -> ToolResult:
    if call.may_have_run:
        return ToolResult(wording.interrupted(), "unknown")
    return ToolResult(wording.gone(call.call.name), "error")


def _lapsed(leg: Leg, call: PendingCall) -> bool:
    """Whether an approval that was given for a time has come to its end: it is asked for again."""
    decision = call.decision
    return (
        decision is not None
        and decision.expires is not None
        and leg.clock.time() >= decision.expires
    )


def _failed_before(leg: Leg, call: PendingCall) -> list[str]:
    """The calls of the same reply that came before and did not succeed."""
    of_turn = [record for record in leg.state.results if record.turn == call.turn]
    return [record.tool for record in of_turn if record.outcome != "ok"]


def _answer(leg: Leg, call: PendingCall, result: ToolResult, ms: float = 0.0) -> None:
    call.result, call.phase = result, "done"
    leg.finish(call, ms)
    leg.save()


def _mark(leg: Leg, tool: Tool, call: PendingCall) -> None:
    """Write down that the call starts, durably where running it again could do harm."""
    call.phase, call.begun = "started", True
    leg.state.tool_runs += 1
    if not tool.read_only:
        leg.state.writes += 1
        leg.save(durable=True)


async def _run(leg: Leg, tool: Tool, call: PendingCall, shares: tuple[Share, ...]) -> Stop | None:
    began = leg.clock.monotonic()
    execution = await _execute(leg, tool, call, shares)
    for tries in range(1, tool.retries + 1):
        if not may_try_again(tool, execution) or not await _paused(leg, tool, tries):
            break
        leg.state.tool_runs += 1
        leg.state.writes += not tool.read_only
        execution = await _execute(leg, tool, call, shares)
    result, stop = judge(tool, execution, leg.settings)
    if tool.final and result.outcome == "ok":
        _skip_after(leg, call)
    leg.cache.note(tool, call.fingerprint, result.text, result.outcome)
    _answer(leg, call, _told(call, result), (leg.clock.monotonic() - began) * 1000)
    return stop


def _arguments(call: PendingCall) -> str:
    """What it is run with, as text: what the model sent, unless a person changed it."""
    return canonical(call.args) if call.edited else call.call.arguments


def _told(call: PendingCall, result: ToolResult) -> ToolResult:
    """The model has to know of arguments that are not the ones it sent."""
    if not call.edited:
        return result
    text = f"{wording.edited(_arguments(call))}\n{result.text}"
    return msgspec.structs.replace(result, text=text)


async def _paused(leg: Leg, tool: Tool, tries: int) -> bool:
    """Pause before another try; False if the run may not go on."""
    leg.emit(Note(leg.state.run_id, f"{tool.name} failed, try {tries + 1} follows"))
    wait = random.random() * min(LONGEST, PAUSE * 2.0 ** (tries - 1))
    try:
        await unless(leg.cancel, leg.clock.sleep(wait))
    except SignalFired:
        return False
    return gate(leg) is None and leg.condition.veto(leg.state) is None


def _skip_after(leg: Leg, final: PendingCall) -> None:
    """The run is finished: what was asked for after that is not done."""
    for call in leg.state.pending[leg.state.pending.index(final) + 1 :]:
        if call.result is None:
            call.result, call.phase = ToolResult(wording.FINISHED, "skipped"), "done"


async def _execute(leg: Leg, tool: Tool, call: PendingCall, shares: tuple[Share, ...]) -> Execution:
    signal = leg.cancel.child()
    arguments = tool.bind(call.args or {})
    if tool.takes_context:
        arguments["ctx"] = context(leg, call, signal, shares)
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
