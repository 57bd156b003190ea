"""One call: answered without being run, or run, perhaps again, until it has its result."""

from __future__ import annotations

import random
from asyncio import CancelledError
from collections.abc import Awaitable
from typing import Any, NamedTuple

import msgspec

from fakeprovider_harness.budget.budget_tree import Share
from fakeprovider_harness.cancel import SignalFired, unless
from fakeprovider_harness.engine.gate import gate
from fakeprovider_harness.engine.run_context import Leg
from fakeprovider_harness.models.surrogates import mend, mend_tree
from fakeprovider_harness.outcomes import Stop, StopKind
from fakeprovider_harness.settings import Settings
from fakeprovider_harness.state import PendingCall, ToolResult
from fakeprovider_harness.tooling import model_messages
from fakeprovider_harness.tooling.execution import Ended, Execution, execute
from fakeprovider_harness.tooling.fingerprint import canonical
from fakeprovider_harness.tooling.tool_context import context
from fakeprovider_harness.tools import (
    FatalToolError,
    PermanentToolError,
    Tool,
    ToolCancelled,
    ToolError,
    TransientToolError,
)
from fakeprovider_harness.trace import LateEffect, Note, ToolStart

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
        doubt = f"{call.note}; " if call.note == model_messages.REPEATS_UNKNOWN else ""
        call.note = doubt + model_messages.EXPIRED
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
        return ToolResult(model_messages.vetoed(veto), "skipped")
    if tool.final and (failed := _failed_before(leg, call)):
        return ToolResult(model_messages.not_finished(failed), "error")
    if (text := leg.cache.get(tool, call.fingerprint)) is not None:
        return ToolResult(text, cached=True)
    return None


def _gone(call: PendingCall) -> ToolResult:
    if call.may_have_run:
        return ToolResult(model_messages.interrupted(), "unknown")
    return ToolResult(model_messages.gone(call.call.name), "error")


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
    text = f"{model_messages.edited(_arguments(call))}\n{result.text}"
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
            call.result, call.phase = ToolResult(model_messages.FINISHED, "skipped"), "done"


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


class Judgement(NamedTuple):
    """The result of a call, and why the run must end if it must."""

    result: ToolResult
    stop: Stop | None = None


def judge(tool: Tool, execution: Execution, settings: Settings) -> Judgement:
    """Apply the error policy of the run to an execution."""
    ended = execution.ended
    if ended is not None and ended.error is None:
        try:
            return Judgement(result_of(ended.value))
        except (TypeError, ValueError, OverflowError, RecursionError) as odd:
            return _failed(tool, ToolError(model_messages.unsendable(ended.value, odd)), settings)
    error = None if ended is None else ended.error
    if error is None or execution.told or isinstance(error, ToolCancelled | CancelledError):
        return _stopped(tool, execution, error, settings)
    return _failed(tool, error, settings)


def may_try_again(tool: Tool, execution: Execution) -> bool:
    """Whether the same call may simply be run once more.

    Never where its effect could then happen twice: only after a failure that says that nothing was
    done, or where the tool only reads or is idempotent. An error that the tool has worded is for
    the model, not for another try.
    """
    if execution.told is not None:
        return execution.timed_out and tool.repeatable
    error = None if execution.ended is None else execution.ended.error
    if error is None or isinstance(error, CancelledError | ToolCancelled | FatalToolError):
        return False
    if isinstance(error, ToolError):
        return isinstance(error, TransientToolError)
    return tool.repeatable and isinstance(error, Exception)


def ambiguous(error: BaseException) -> bool:
    """Whether the other side may have done what was asked though no answer came.

    Timeouts and broken connections; not a connection that was refused. Many libraries have timeouts
    of their own that are no `TimeoutError`, so the names of the classes are looked at as well.
    """
    if isinstance(error, ToolError | ConnectionRefusedError):
        return False
    if isinstance(error, TimeoutError | ConnectionError):
        return True
    return any("Timeout" in kind.__name__ for kind in type(error).__mro__)


def result_of(value: Any) -> ToolResult:
    """Text as it is, a `ToolResult` as it says, anything else as compact JSON.

    Raises `TypeError`, `ValueError`, `OverflowError` or `RecursionError` where there is no JSON for
    it: an address in memory would be no result.
    """
    if isinstance(value, ToolResult):
        sound = msgspec.convert(msgspec.to_builtins(value), ToolResult)
        return msgspec.structs.replace(sound, text=mend(sound.text))
    if isinstance(value, str):
        return ToolResult(mend(value))
    if value is None:
        return ToolResult(model_messages.NO_OUTPUT)
    data = mend_tree(msgspec.to_builtins(value))
    return ToolResult(msgspec.json.encode(data).decode())


def _failed(tool: Tool, error: BaseException, settings: Settings) -> Judgement:
    permanent = isinstance(error, PermanentToolError)
    unknown = ambiguous(error) and not tool.repeatable
    text = _text(error, settings)
    if permanent and settings.permanent == "tell":
        text = model_messages.permanent(text)
    fatal = (
        isinstance(error, FatalToolError)
        or settings.errors == "fatal"
        or (permanent and settings.permanent == "stop")
    )
    stop = _fatal(tool, _instructive(error)) if fatal else None
    if unknown:
        return Judgement(ToolResult(mend(model_messages.may_have(text)), "unknown"), stop)
    told = permanent and settings.permanent == "tell"
    return Judgement(ToolResult(mend(text), "error", permanent=told), stop)


def _text(error: BaseException, settings: Settings) -> str:
    if callable(settings.errors) and isinstance(error, Exception):
        return settings.errors(error)
    return model_messages.OPAQUE if settings.errors == "opaque" else _instructive(error)


def _instructive(error: BaseException) -> str:
    """What the tool said: its own words where it chose them, else with the exception's name."""
    chosen = isinstance(error, ToolError | FatalToolError)
    return f"Error: {error}" if chosen else f"Error: {type(error).__name__}: {error}"


def _fatal(tool: Tool, text: str) -> Stop:
    return Stop(StopKind.FATAL_TOOL_ERROR, evidence={"tool": tool.name, "error": mend(text)})


def _stopped(
    tool: Tool, execution: Execution, error: BaseException | None, settings: Settings
) -> Judgement:
    """A call that was told to stop, or stopped by itself before its end."""
    text = mend(_stopped_words(tool, execution, error))
    if execution.timed_out:
        stop = _fatal(tool, text) if settings.errors == "fatal" else None
        return Judgement(ToolResult(text, "timeout"), stop)
    unknown = execution.ended is None and not tool.read_only
    return Judgement(ToolResult(text, "unknown" if unknown else "cancelled"))


def _stopped_words(tool: Tool, execution: Execution, error: BaseException | None) -> str:
    told = execution.told or "the tool stopped by itself"
    said = "" if error is None else str(error)
    return model_messages.given_up(
        told if execution.timed_out else f"Cancelled: {told}",
        ended=execution.ended is not None,
        effects=not tool.read_only and not isinstance(error, ToolCancelled),
        said="" if said == execution.told else said,
    )
