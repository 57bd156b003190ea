"""One request to the model: marked, sent, stored and charged, before any tool is looked at."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import asdict

from fakeprovider_harness.deadline import alarm
from fakeprovider_harness.engine import compaction, progress_measures, transcript
from fakeprovider_harness.engine.metered_model import Metered, NotAdmitted
from fakeprovider_harness.engine.run_context import Leg, Pauses
from fakeprovider_harness.models.base import (
    Message,
    Model,
    ModelCancelled,
    ModelError,
    ModelReply,
    Usage,
)
from fakeprovider_harness.models.retry import Retry, RetryingModel
from fakeprovider_harness.outcomes import Stop, StopKind
from fakeprovider_harness.state import TurnRecord
from fakeprovider_harness.tooling import model_messages
from fakeprovider_harness.trace import Note, RequestRetried, TurnEvent


async def ask(leg: Leg) -> Stop | None:
    """Ask for the next reply and accept it; returns why the run ends if none came."""
    progress_measures.nudge(leg)
    began, paused = leg.clock.monotonic(), leg.paused
    try:
        reply = await _reply(leg)
    except NotAdmitted as refused:
        return refused.stop
    except ModelCancelled:
        return _cancelled(leg)
    except ModelError as error:
        leg.overflowed = _kind_of(error) is StopKind.CONTEXT_WINDOW
        return None if leg.overflowed and compaction.due(leg) else _failure(error)
    accept(leg, reply, (leg.clock.monotonic() - began - leg.paused + paused) * 1000)
    return _unusable(leg, reply)


def _cancelled(leg: Leg) -> Stop | None:
    """The stop of a request that was ended; None where its time was up, as the gate will say."""
    if not leg.cancel.cancelled and leg.time_left() == 0:
        return None
    reason = leg.cancel.reason or "the model client was cancelled"
    return Stop(StopKind.CANCELLED, evidence={"reason": reason})


async def _reply(leg: Leg) -> ModelReply:
    """The reply of the model, asked as often as the retry policy says and time permits."""
    async with alarm(leg) as signal:
        return await _asked(leg).ask(
            leg.outgoing.messages(leg.state),
            leg.toolbox.specs,
            max_output=leg.settings.max_output,
            cancel=signal,
            on_text=leg.on_text,
        )


def _asked(leg: Leg) -> Model:
    policy = leg.account.retry
    if policy is None or isinstance(leg.model, RetryingModel):
        return Metered(leg)

    def tell(retry: Retry) -> None:
        leg.emit(RequestRetried(leg.state.run_id, len(leg.state.turns) + 1, **asdict(retry)))

    retries = leg.account.retries
    return RetryingModel(Metered(leg), policy, retries, clock=Pauses(leg), on_retry=tell)


def accept(leg: Leg, reply: ModelReply, ms: float = 0.0) -> None:
    """Store a reply that was charged: its calls are pending, and the trace hears of it."""
    state, sent = leg.state, len(leg.state.messages)
    usage = reply.usage or Usage(0, 0, estimated=True)
    empty = not reply.text.strip() and not reply.calls
    transcript.add_reply(state, reply, leg.taken)
    state.turns.append(
        TurnRecord(
            turn=len(state.turns) + 1,
            usage=usage,
            cost_usd=leg.cost_of(usage, reply.model),
            finish=reply.finish,
            sent=sent,
            calls=len(reply.calls),
            tool_runs=state.tool_runs,
            empty=empty and reply.finish != "pause",
            model=reply.model,
            ms=round(ms, 3),
            overrun=leg.overrun,
        )
    )
    _nudge(leg, reply)
    leg.save()
    _report(leg, usage, reply)


def _nudge(leg: Leg, reply: ModelReply) -> None:
    """Where a reply neither answers nor calls, the next request must say something new."""
    if reply.calls:
        return
    if reply.finish == "length":
        leg.state.messages.append(Message("user", model_messages.GO_ON))
    elif leg.state.turns[-1].empty:
        leg.state.messages.append(Message("user", model_messages.ASK_AGAIN))


def _report(leg: Leg, usage: Usage, reply: ModelReply) -> None:
    for note in (*reply.notes, *_oddities(leg, reply)):
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


def _oddities(leg: Leg, reply: ModelReply) -> Iterator[str]:
    """What the service did that a budget has to know of."""
    *earlier, turn = leg.state.turns
    if turn.overrun:
        yield f"the service used {turn.overrun} tokens more than the request allowed"
    model = reply.model or leg.model.name
    if model not in (leg.model.name, *(other.model for other in earlier)):
        yield f"asked for {leg.model.name}, answered by {model}: its price counts"


def _unusable(leg: Leg, reply: ModelReply) -> Stop | None:
    required = leg.settings.usage == "require"
    if required and reply.calls and reply.usage is not None and reply.usage.estimated:
        return Stop(StopKind.USAGE_UNKNOWN)
    return None


def _failure(error: ModelError) -> Stop:
    evidence = {
        "error": str(error),
        "status": error.status,
        "code": error.code,
        "attempts": len(error.attempts) + 1,
        "gave_up": error.gave_up,
    }
    return Stop(_kind_of(error), evidence={k: v for k, v in evidence.items() if v is not None})


def _kind_of(error: ModelError) -> StopKind:
    if error.code == "context_length_exceeded":
        return StopKind.CONTEXT_WINDOW
    if not error.retryable:
        return StopKind.PROVIDER_ERROR
    if error.gave_up == "rate_limited" or error.status == 429:
        return StopKind.RATE_LIMITED
    return StopKind.PROVIDER_UNAVAILABLE
