"""From how a tool ended to what the model reads, and whether the run ends with it."""

from __future__ import annotations

from asyncio import CancelledError
from typing import Any, NamedTuple

import msgspec

from harness import wording
from harness.execution import Execution
from harness.models.surrogates import mend, mend_tree
from harness.settings import Settings
from harness.state import ToolResult
from harness.tools import (
    FatalToolError,
    PermanentToolError,
    Tool,
    ToolCancelled,
    ToolError,
    TransientToolError,
)
from harness.ways_out import Stop, StopKind


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
            return _failed(tool, ToolError(wording.unsendable(ended.value, odd)), settings)
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
        return ToolResult(wording.NO_OUTPUT)
    data = mend_tree(msgspec.to_builtins(value))
    return ToolResult(msgspec.json.encode(data).decode())


def _failed(tool: Tool, error: BaseException, settings: Settings) -> Judgement:
    permanent = isinstance(error, PermanentToolError)
    unknown = ambiguous(error) and not tool.repeatable
    text = _text(error, settings)
    if permanent and settings.permanent == "tell":
        text = wording.permanent(text)
    fatal = (
        isinstance(error, FatalToolError)
        or settings.errors == "fatal"
        or (permanent and settings.permanent == "stop")
    )
    stop = _fatal(tool, _instructive(error)) if fatal else None
    if unknown:
        return Judgement(ToolResult(mend(wording.may_have(text)), "unknown"), stop)
    told = permanent and settings.permanent == "tell"
    return Judgement(ToolResult(mend(text), "error", permanent=told), stop)


def _text(error: BaseException, settings: Settings) -> str:
    if callable(settings.errors) and isinstance(error, Exception):
        return settings.errors(error)
    return wording.OPAQUE if settings.errors == "opaque" else _instructive(error)


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
    return wording.given_up(
        told if execution.timed_out else f"Cancelled: {told}",
        ended=execution.ended is not None,
        effects=not tool.read_only and not isinstance(error, ToolCancelled),
        said="" if said == execution.told else said,
    )
