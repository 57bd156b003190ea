"""One request to the model: marked, sent, stored and charged, before any tool is looked at."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import asdict

from fakeprovider_harness.engine import compaction, gate, transcript
from fakeprovider_harness.engine.metered_model import NotAdmitted, retrying
from fakeprovider_harness.engine.run_context import RunContext
from fakeprovider_harness.models.base import (
    Message,
    ModelCancelled,
    ModelError,
    ModelReply,
    Usage,
)
from fakeprovider_harness.models.retry import Retry
from fakeprovider_harness.outcomes import Stop, StopKind
from fakeprovider_harness.state import TurnRecord
from fakeprovider_harness.tooling import model_messages
from fakeprovider_harness.trace import Note, RequestRetried, TurnEvent


async def ask(run: RunContext) -> Stop | None:
    """Ask for the next reply and accept it; returns why the run ends if none came."""
    gate.nudge(run)
    began, paused = run.clock.monotonic(), run.clock.paused
    try:
        reply = await _reply(run)
    except NotAdmitted as refused:
        return refused.stop
    except ModelCancelled:
        return _cancelled(run)
    except ModelError as error:
        run.overflowed = _kind_of(error) is StopKind.CONTEXT_WINDOW
        return None if run.overflowed and compaction.due(run) else _failure(error)
    accept(run, reply, (run.clock.monotonic() - began - run.clock.paused + paused) * 1000)
    return _unusable(run, reply)


def _cancelled(run: RunContext) -> Stop | None:
    """The stop of a request that was ended; None where its time was up, as the gate will say."""
    if not run.cancel.cancelled and run.time_left() == 0:
        return None
    reason = run.cancel.reason or "the model client was cancelled"
    return Stop(StopKind.CANCELLED, evidence={"reason": reason})


async def _reply(run: RunContext) -> ModelReply:
    """The reply of the model, asked as often as the retry policy says and time permits."""

    def tell(retry: Retry) -> None:
        turn = len(run.state.turns) + 1
        run.journal.emit(RequestRetried(run.state.run_id, turn, **asdict(retry)))

    async with run.request_signal() as signal:
        return await retrying(run, run.model, run.ledger.pricing, on_retry=tell).ask(
            run.outgoing.messages(run.state),
            run.toolbox.specs,
            max_output=run.settings.max_output,
            cancel=signal,
            on_text=run.on_text,
        )


def accept(run: RunContext, reply: ModelReply, ms: float = 0.0) -> None:
    """Store a reply that was charged: its calls are pending, and the trace hears of it."""
    state, sent = run.state, len(run.state.messages)
    usage = reply.usage or Usage(0, 0, estimated=True)
    empty = not reply.text.strip() and not reply.calls
    transcript.add_reply(state, reply, run.call_ids)
    state.turns.append(
        TurnRecord(
            turn=len(state.turns) + 1,
            usage=usage,
            cost_usd=run.ledger.cost_of(usage, reply.model),
            finish=reply.finish,
            sent=sent,
            calls=len(reply.calls),
            tool_runs=state.tool_runs,
            empty=empty and reply.finish != "pause",
            model=reply.model,
            ms=round(ms, 3),
            overrun=run.ledger.overrun,
        )
    )
    _nudge(run, reply)
    run.journal.save()
    _report(run, usage, reply)


def _nudge(run: RunContext, reply: ModelReply) -> None:
    """Where a reply neither answers nor calls, the next request must say something new."""
    if reply.calls:
        return
    if reply.finish == "length":
        run.state.messages.append(Message("user", model_messages.GO_ON))
    elif run.state.turns[-1].empty:
        run.state.messages.append(Message("user", model_messages.ASK_AGAIN))


def _report(run: RunContext, usage: Usage, reply: ModelReply) -> None:
    for note in (*reply.notes, *_oddities(run, reply)):
        run.journal.emit(Note(run.state.run_id, note))
    run.journal.emit(
        TurnEvent(
            run.state.run_id,
            len(run.state.turns),
            usage.prompt_tokens,
            usage.completion_tokens,
            usage.prompt_tokens + usage.completion_tokens,
            run.ledger.known_cost,
            reply.finish,
        )
    )


def _oddities(run: RunContext, reply: ModelReply) -> Iterator[str]:
    """What the service did that a budget has to know of."""
    *earlier, turn = run.state.turns
    if turn.overrun:
        yield f"the service used {turn.overrun} tokens more than the request allowed"
    model = reply.model or run.model.name
    if model not in (run.model.name, *(other.model for other in earlier)):
        yield f"asked for {run.model.name}, answered by {model}: its price counts"


def _unusable(run: RunContext, reply: ModelReply) -> Stop | None:
    required = run.settings.usage == "require"
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
