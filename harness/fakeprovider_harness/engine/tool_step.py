"""The calls of a reply on their way to results: which are next, running them, and what failed."""

from __future__ import annotations

import asyncio
import random
from asyncio import CancelledError
from collections.abc import Awaitable, Sequence
from typing import Any, NamedTuple

import msgspec

from fakeprovider_harness.budget.budget_tree import Share
from fakeprovider_harness.cancel import SignalFired, unless
from fakeprovider_harness.engine.gate import gate
from fakeprovider_harness.engine.run_context import RunContext
from fakeprovider_harness.models.wire import mend, mend_tree
from fakeprovider_harness.outcomes import Stop, StopKind, weightiest
from fakeprovider_harness.settings import Settings
from fakeprovider_harness.state import PendingCall, ToolResult, canonical
from fakeprovider_harness.tooling import model_messages
from fakeprovider_harness.tooling.execution import Ended, Execution, execute
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


def next_calls(run: RunContext) -> list[PendingCall]:
    """The calls to run next: the reads up to the next effect together, an effect alone.

    Effects happen in call order, and none overtakes a call that waits for a person; a read does.
    """
    reads: list[PendingCall] = []
    blocked = False
    for call in run.state.pending:
        if call.phase == "ready" and _reads(run, call):
            if len(reads) == run.settings.parallel or _answers(run, reads, call):
                break
            reads.append(call)
        elif call.phase == "ready" and not blocked:
            return reads or [call]
        blocked = blocked or call.phase in ("awaiting", "unknown")
    return reads


def _reads(run: RunContext, call: PendingCall) -> bool:
    tool = run.toolbox.get(call.call.name)
    return tool is not None and tool.read_only and not tool.final


def _answers(run: RunContext, reads: Sequence[PendingCall], call: PendingCall) -> bool:
    """Whether one of `reads` will have the answer to `call`, if the results of both are cached."""
    tool = run.toolbox.get(call.call.name)
    cached = tool is not None and run.cache.covers(tool)
    return cached and any(call.fingerprint == read.fingerprint for read in reads)


async def perform(run: RunContext, calls: Sequence[PendingCall]) -> Stop | None:
    """Bring ready calls to their results; returns why the run must end, if it must.

    The gate is passed before each of them starts, and those that have started come to their end
    whatever becomes of the others: a result is never lost to a sibling that failed.
    """
    agents = sum(_runs_agent(run, call) for call in calls)
    shares = run.account.shares(agents)
    first, *others = calls
    work = start(run, first, shares)
    if not others:
        return None if work is None else await work
    tasks = [] if work is None else [asyncio.ensure_future(work)]
    try:
        for call in others:
            if gate(run) is not None:
                break
            if (work := start(run, call, shares)) is not None:
                tasks.append(asyncio.ensure_future(work))
        stops = await asyncio.gather(*tasks)
    except BaseException:  # no tool's doing, a store's for one: nothing is left running behind it
        await _end(tasks)
        raise
    return weightiest([stop for stop in stops if stop is not None])


def _runs_agent(run: RunContext, call: PendingCall) -> bool:
    tool = run.toolbox.get(call.call.name)
    return tool is not None and tool.runs_agent


async def _end(tasks: Sequence[asyncio.Future[Stop | None]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)


PAUSE, LONGEST = 0.2, 5.0
"""Seconds before a tool is tried again: up to `PAUSE`, twice that, and so on up to `LONGEST`."""


def start(
    run: RunContext, call: PendingCall, shares: tuple[Share, ...] = ()
) -> Awaitable[Stop | None] | None:
    """Mark a ready call as started; returns its execution, or None if it needs no running.

    The execution ends with the reason why the run must end, None if it need not. `shares` is what
    an agent that the call runs may use of the run's budgets.
    """
    tool = run.toolbox.get(call.call.name)
    if tool is not None and _lapsed(run, call):
        call.phase, call.decision, call.asked = "awaiting", None, run.clock.time()
        doubt = f"{call.note}; " if call.note == model_messages.REPEATS_UNKNOWN else ""
        call.note = doubt + model_messages.EXPIRED
        return None
    answer = _gone(call) if tool is None else _unrun(run, tool, call)
    if tool is None or answer is not None:
        _answer(run, call, answer or _gone(call))
        return None
    _mark(run, tool, call)
    run.journal.emit(ToolStart(run.state.run_id, tool.name, _arguments(call), call.call.id))
    return _run(run, tool, call, shares)


def _unrun(run: RunContext, tool: Tool, call: PendingCall) -> ToolResult | None:
    """The result of a call that is not to be run; None if it is."""
    if not call.begun and (veto := run.condition.veto(run.state)) is not None:
        return ToolResult(model_messages.vetoed(veto), "skipped")
    if tool.final and (failed := _failed_before(run, call)):
        return ToolResult(model_messages.not_finished(failed), "error")
    if (text := run.cache.get(tool, call.fingerprint)) is not None:
        return ToolResult(text, cached=True)
    return None


def _gone(call: PendingCall) -> ToolResult:
    if call.may_have_run:
        return ToolResult(model_messages.interrupted(), "unknown")
    return ToolResult(model_messages.gone(call.call.name), "error")


def _lapsed(run: RunContext, call: PendingCall) -> bool:
    """Whether an approval that was given for a time has come to its end: it is asked for again."""
    decision = call.decision
    return (
        decision is not None
        and decision.expires is not None
        and run.clock.time() >= decision.expires
    )


def _failed_before(run: RunContext, call: PendingCall) -> list[str]:
    """The calls of the same reply that came before and did not succeed."""
    of_turn = [record for record in run.state.results if record.turn == call.turn]
    return [record.tool for record in of_turn if record.outcome != "ok"]


def _answer(run: RunContext, call: PendingCall, result: ToolResult, ms: float = 0.0) -> None:
    call.result, call.phase = result, "done"
    run.journal.finish(call, ms)
    run.journal.save()


def _mark(run: RunContext, tool: Tool, call: PendingCall) -> None:
    """Write down that the call starts, durably where running it again could do harm."""
    call.phase, call.begun = "started", True
    run.state.tool_runs += 1
    if not tool.read_only:
        run.state.writes += 1
        run.journal.save(durable=True)


async def _run(
    run: RunContext, tool: Tool, call: PendingCall, shares: tuple[Share, ...]
) -> Stop | None:
    began = run.clock.monotonic()
    execution = await _execute(run, tool, call, shares)
    for tries in range(1, tool.retries + 1):
        if not may_try_again(tool, execution) or not await _paused(run, tool, tries):
            break
        run.state.tool_runs += 1
        run.state.writes += not tool.read_only
        execution = await _execute(run, tool, call, shares)
    result, stop = judge(tool, execution, run.settings)
    if tool.final and result.outcome == "ok":
        _skip_after(run, call)
    run.cache.note(tool, call.fingerprint, result.text, result.outcome)
    _answer(run, call, _with_edit(call, result), (run.clock.monotonic() - began) * 1000)
    return stop


def _arguments(call: PendingCall) -> str:
    """What it is run with, as text: what the model sent, unless a person changed it."""
    return canonical(call.args) if call.edited else call.call.arguments


def _with_edit(call: PendingCall, result: ToolResult) -> ToolResult:
    """The result, which tells the model of arguments that a person has changed."""
    if not call.edited:
        return result
    text = f"{model_messages.edited(_arguments(call))}\n{result.text}"
    return msgspec.structs.replace(result, text=text)


async def _paused(run: RunContext, tool: Tool, tries: int) -> bool:
    """Pause before another try; False if the run may not go on."""
    run.journal.emit(Note(run.state.run_id, f"{tool.name} failed, try {tries + 1} follows"))
    wait = random.random() * min(LONGEST, PAUSE * 2.0 ** (tries - 1))
    try:
        await unless(run.cancel, run.clock.source.sleep(wait))
    except SignalFired:
        return False
    return gate(run) is None and run.condition.veto(run.state) is None


def _skip_after(run: RunContext, final: PendingCall) -> None:
    """The run is finished: what was asked for after that is not done."""
    for call in run.state.pending[run.state.pending.index(final) + 1 :]:
        if call.result is None:
            call.result, call.phase = ToolResult(model_messages.FINISHED, "skipped"), "done"


async def _execute(
    run: RunContext, tool: Tool, call: PendingCall, shares: tuple[Share, ...]
) -> Execution:
    signal = run.cancel.child()
    arguments = tool.bind(call.args or {})
    if tool.takes_context:
        arguments["ctx"] = context(run, call, signal, shares)
    timeout = run.settings.tool_timeout if tool.timeout is None else tool.timeout

    def late(ended: Ended) -> None:
        ok = ended.error is None
        run.state.writes += not tool.read_only  # what was verified before may not hold any more
        run.journal.emit(LateEffect(run.state.run_id, tool.name, call.call.id, ok))

    try:
        return await execute(
            tool.fn,
            arguments,
            cancel=signal,
            timeout=timeout,
            grace=run.settings.grace,
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
    tell = permanent and settings.permanent == "tell"
    return Judgement(ToolResult(mend(text), "error", permanent=tell), stop)


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
    reason = execution.told or "the tool stopped by itself"
    message = "" if error is None else str(error)
    return model_messages.given_up(
        reason if execution.timed_out else f"Cancelled: {reason}",
        ended=execution.ended is not None,
        effects=not tool.read_only and not isinstance(error, ToolCancelled),
        said="" if message == execution.told else message,
    )
