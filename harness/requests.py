"""One request to the model: marked, sent, stored and charged, before any tool is looked at."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from harness import charging, noticing, transcript, wording
from harness.leg import Leg
from harness.models.base import (
    Attempt,
    Message,
    ModelCancelled,
    ModelError,
    ModelReply,
    Usage,
)
from harness.state import Request, TurnRecord
from harness.trace import Note, TurnEvent
from harness.ways_out import Stop, StopKind


async def ask(leg: Leg) -> Stop | None:
    """Ask for the next reply and accept it; returns why the run ends if none came."""
    noticing.nudge(leg)
    mark(leg)
    began = leg.clock.monotonic()
    try:
        reply = await _reply(leg)
    except ModelCancelled as cancelled:
        _unmark(leg, cancelled.partial, cancelled.attempts, "cancelled")
        return _cancelled(leg)
    except ModelError as error:
        _unmark(leg, error.partial, error.attempts, str(error))
        return _failure(error)
    accept(leg, reply, (leg.clock.monotonic() - began) * 1000)
    return _unusable(leg, reply)


def _cancelled(leg: Leg) -> Stop:
    """The stop of a request that was ended by the run's signal, or by one that the client has."""
    reason = leg.cancel.reason or "the model client was cancelled"
    return Stop(StopKind.CANCELLED, evidence={"reason": reason})


def mark(leg: Leg) -> None:
    """Write down that a request is about to be sent, and what it may cost at most."""
    settings, state = leg.settings, leg.state
    output = settings.assumed_output if settings.max_output is None else settings.max_output
    bound = charging.prompt_bound(state, leg.toolbox.specs)
    state.request = Request(len(state.turns) + 1, bound, output)
    leg.save()


async def _reply(leg: Leg) -> ModelReply:
    """The model's reply; a client that does not heed the signal is cut off."""
    asking = asyncio.ensure_future(
        leg.model.ask(
            leg.state.messages,
            leg.toolbox.specs,
            max_output=leg.settings.max_output,
            cancel=leg.cancel,
            on_text=leg.on_text,
        )
    )
    loop = asyncio.get_running_loop()

    def cut_off_later() -> None:
        loop.call_later(leg.settings.grace, asking.cancel)

    forget = leg.cancel.listen(lambda: _soon(loop, cut_off_later))
    try:
        return await asking
    except asyncio.CancelledError as cancelled:
        if isinstance(cancelled, ModelCancelled) or not leg.cancel.cancelled:
            raise
        raise ModelCancelled(partial=ModelReply()) from cancelled
    finally:
        forget()


def _soon(loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(callback)


def accept(leg: Leg, reply: ModelReply, ms: float = 0.0) -> None:
    """Store and charge a reply; its calls are pending, and the request is no longer in flight."""
    state, sent = leg.state, len(leg.state.messages)
    _charge_attempts(leg, reply.attempts)
    usage = reply.usage or charging.estimated(reply, _bound(leg))
    empty = not reply.text.strip() and not reply.calls
    transcript.add_reply(state, reply, leg.taken)
    state.turns.append(
        TurnRecord(
            turn=len(state.turns) + 1,
            usage=usage,
            cost_usd=leg.charge(usage, reply.model),
            finish=reply.finish,
            sent=sent,
            calls=len(reply.calls),
            tool_runs=state.tool_runs,
            empty=empty and reply.finish != "pause",
            model=reply.model,
            ms=round(ms, 3),
        )
    )
    _nudge(leg, reply)
    state.request = None
    leg.save()
    _report(leg, usage, reply)


def _nudge(leg: Leg, reply: ModelReply) -> None:
    """Where a reply neither answers nor calls, the next request must say something new."""
    if reply.calls:
        return
    if reply.finish == "length":
        leg.state.messages.append(Message("user", wording.GO_ON))
    elif leg.state.turns[-1].empty:
        leg.state.messages.append(Message("user", wording.ASK_AGAIN))


def _report(leg: Leg, usage: Usage, reply: ModelReply) -> None:
    for note in reply.notes:
        leg.emit(Note(leg.state.run_id, note))
    leg.emit(
        TurnEvent(
            leg.state.run_id,
            len(leg.state.turns),
            usage.prompt_tokens,
            usage.completion_tokens,
            usage.prompt_tokens + usage.completion_tokens,
            leg.known_cost,
            reply.finish,
        )
    )


def _unusable(leg: Leg, reply: ModelReply) -> Stop | None:
    if reply.usage is None and reply.calls and leg.settings.usage == "require":
        return Stop(StopKind.USAGE_UNKNOWN)
    return None


def _unmark(leg: Leg, partial: ModelReply | None, attempts: Iterable[Attempt], why: str) -> None:
    _charge_attempts(leg, attempts)
    _charge_partial(leg, partial, why)
    leg.state.request = None
    leg.save()


def _charge_attempts(leg: Leg, attempts: Iterable[Attempt]) -> None:
    for attempt in attempts:
        _charge_partial(leg, attempt.partial, attempt.message)


def _charge_partial(leg: Leg, partial: ModelReply | None, why: str) -> None:
    if partial is not None:  # None: the provider cannot have charged
        leg.lose(partial.usage or charging.estimated(partial, _bound(leg)), why)


def _bound(leg: Leg) -> int:
    request = leg.state.request
    return 0 if request is None else request.prompt_bound


def _failure(error: ModelError) -> Stop:
    evidence = {"error": str(error), "status": error.status, "code": error.code}
    return Stop(_kind_of(error), evidence={k: v for k, v in evidence.items() if v is not None})


def _kind_of(error: ModelError) -> StopKind:
    if error.code == "context_length_exceeded":
        return StopKind.CONTEXT_WINDOW
    if not error.retryable:
        return StopKind.PROVIDER_ERROR
    if error.gave_up == "rate_limited" or error.status == 429:
        return StopKind.RATE_LIMITED
    return StopKind.PROVIDER_UNAVAILABLE
