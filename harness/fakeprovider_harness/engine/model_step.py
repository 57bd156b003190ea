"""One request to the model: marked, sent, stored and charged, before any tool is looked at.

So no attempt goes uncounted, be it a turn of the conversation or a request beside it, such as a
summary or a check; and a client that does not heed the signal is cut off.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from functools import partial

import msgspec
from msgspec.structs import asdict

from fakeprovider_harness.budget import charging
from fakeprovider_harness.budget.budget_tree import Grant
from fakeprovider_harness.budget.charging import Pricing
from fakeprovider_harness.cancel import tell
from fakeprovider_harness.engine import gate, transcript
from fakeprovider_harness.engine.run_context import RunContext
from fakeprovider_harness.models.base import (
    Attempt,
    CancelSignal,
    Message,
    Model,
    ModelCancelled,
    ModelError,
    ModelReply,
    ToolSpec,
    Usage,
)
from fakeprovider_harness.models.retry import Retry, RetryingModel
from fakeprovider_harness.outcomes import Stop, StopKind
from fakeprovider_harness.state import Purpose, Request, RunState, TurnRecord
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
        return None if run.overflowed and compaction_due(run) else _failure(error)
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


class NotAdmitted(Exception):
    """A budget has no room for the request: it was not sent."""

    def __init__(self, stop: Stop) -> None:
        super().__init__(str(stop))
        self.stop = stop


class MeteredModel:
    """A client as the run asks it. What it returns and what it raises has been charged already.

    With a `purpose` its requests stand beside the conversation, at a price of their own.
    """

    def __init__(
        self, run: RunContext, client: Model, pricing: Pricing, purpose: Purpose | None = None
    ) -> None:
        self.name = client.name
        self._run, self._client, self._pricing, self._purpose = run, client, pricing, purpose

    async def ask(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        *,
        max_output: int | None = None,
        cancel: CancelSignal | None = None,
        on_text: Callable[[str], None] | None = None,
    ) -> ModelReply:
        """As `Model.ask`, once; raises `NotAdmitted` where a reserved budget has no room for it."""
        grant = self._admit(messages, tools, max_output)
        send = partial(self._client.ask, messages, tools, max_output=grant.max_output)
        try:
            self._mark(grant)
            request = send(cancel=cancel, on_text=on_text)
            reply = await _cut_off_after_grace(request, self._run.settings.grace, cancel)
        except (ModelError, ModelCancelled) as error:
            why = "cancelled" if isinstance(error, ModelCancelled) else str(error)
            self._charge_failed(error.attempts, grant)
            self._charge_part(error.partial, why, grant)
            self._run.state.request = None
            self._run.journal.save()
            raise
        else:
            return self._charge(reply, grant)
        finally:
            self._run.account.release(grant)

    async def aclose(self) -> None:
        """The client is the caller's to close."""

    def _admit(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], max_output: int | None
    ) -> Grant:
        run = self._run
        if self._purpose is None:
            bound = charging.prompt_bound(run.state, tools, run.settings.max_result)
        else:
            bound = charging.bytes_of_all(messages) + charging.bytes_of_tools(tools)
        price = charging.price_of(self._pricing, self.name)
        grant = run.account.admit(bound, max_output, run.settings.assumed_output, price)
        if isinstance(grant, Stop):
            raise NotAdmitted(grant)
        return grant

    def _mark(self, grant: Grant) -> None:
        """Write down that a request is about to be sent, and what it may cost at most."""
        state, need = self._run.state, grant.need
        cost = None
        if self._purpose is None:
            cost = self._run.ledger.cost_of(Usage(need.prompt, need.output), None)
        state.request = Request(len(state.turns) + 1, need.prompt, need.output, cost)
        self._run.journal.save(durable=True)

    def _charge(self, reply: ModelReply, grant: Grant) -> ModelReply:
        """Charge a reply and the attempts before it; returns it with its usage."""
        state, ledger = self._run.state, self._run.ledger
        self._charge_failed(reply.attempts, grant)
        usage = reply.usage or _estimated(reply, grant)
        if self._purpose is None:
            ledger.overrun = _overrun(usage, grant)
            state.overrun += ledger.overrun
            ledger.charge(usage, ledger.cost_of(usage, reply.model))
            state.request = None  # saved with the turn
        else:
            self._charge_part(reply, "", grant)
            state.request = None
            self._run.journal.save()
        return msgspec.structs.replace(reply, usage=usage)

    def _charge_failed(self, attempts: Iterable[Attempt], grant: Grant) -> None:
        """Charge the attempts of a client that retries by itself; its pauses were no work."""
        for attempt in attempts:
            self._run.clock.paused += attempt.waited
            self._charge_part(attempt.partial, attempt.message, grant)

    def _charge_part(self, part: ModelReply | None, why: str, grant: Grant) -> None:
        """Charge what came of a request; None where the provider cannot have charged."""
        if part is None:
            return
        usage = part.usage or _estimated(part, grant)
        if self._purpose is None:
            self._run.ledger.charge_lost(usage, why)
        else:
            cost = charging.cost_of(self._pricing, part.model or self.name, usage)
            self._run.ledger.charge_side(self._purpose, usage, cost)


def retrying(
    run: RunContext,
    client: Model,
    pricing: Pricing,
    purpose: Purpose | None = None,
    on_retry: Callable[[Retry], None] | None = None,
) -> Model:
    """`client`, metered, and asked again as the retry policy says unless it does so itself."""
    metered, policy = MeteredModel(run, client, pricing, purpose), run.account.retry
    if policy is None or isinstance(client, RetryingModel):
        return metered
    return RetryingModel(metered, policy, run.account.retries, clock=run.clock, on_retry=on_retry)


async def ask_beside(
    run: RunContext,
    purpose: Purpose,
    prompt: Sequence[Message],
    *,
    model: Model | None = None,
    price: Pricing = None,
    max_output: int | None = None,
) -> ModelReply | None:
    """One request that leaves no trace in the transcript; None where no reply came.

    Without `model` it goes to the run's own, at the run's price and with its tools described, as
    some services want for a history that holds calls. What it spends is in the run's totals.
    Raises `NotAdmitted` where a reserved budget has no room for it: it was not sent.
    """
    if model is None:
        client = retrying(run, run.model, run.ledger.pricing, purpose)
    else:
        client = retrying(run, model, price, purpose)
    tools = run.toolbox.specs if model is None else ()
    try:
        async with run.request_signal() as signal:
            return await client.ask(prompt, tools, max_output=max_output, cancel=signal)
    except (ModelError, ModelCancelled):
        return None


def _overrun(usage: Usage, grant: Grant) -> int:
    """Tokens beyond what the request allowed: a service that ignores limits is to be named."""
    over = 0 if grant.max_output is None else usage.completion_tokens - grant.max_output
    more = usage.prompt_tokens - grant.need.prompt if grant.bounded else 0
    return max(0, over) + max(0, more)


def _estimated(reply: ModelReply, grant: Grant) -> Usage:
    """The usage of a reply that did not report any, never more than it was allowed."""
    usage = charging.estimated(reply, grant.need.prompt)
    if grant.max_output is None:
        return usage
    allowed = min(usage.completion_tokens, grant.max_output)
    return msgspec.structs.replace(usage, completion_tokens=allowed)


async def _cut_off_after_grace(
    request: Awaitable[ModelReply], grace: float, cancel: CancelSignal | None
) -> ModelReply:
    """The model's reply; a client that does not heed the signal is cut off after the grace."""
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(request)

    def cut_off() -> None:
        tell(loop, partial(loop.call_later, grace, task.cancel))

    forget = None if cancel is None else cancel.listen(cut_off)
    try:
        return await task
    except asyncio.CancelledError as cancelled:
        if isinstance(cancelled, ModelCancelled) or cancel is None or not cancel.cancelled:
            raise
        raise ModelCancelled(partial=ModelReply()) from cancelled
    finally:
        if forget is not None:
            forget()


def compaction_due(run: RunContext) -> bool:
    """Whether the context is to shrink before the next request; once per turn at most."""
    policy = run.context
    if policy is None or run.state.compacted == len(run.state.turns):
        return False
    return run.overflowed or last_prompt(run.state) >= policy.window


def last_prompt(state: RunState) -> int:
    """Tokens of the last prompt and its reply, as reported: what the next prompt begins with."""
    if not state.turns:
        return 0
    usage = state.turns[-1].usage
    return usage.prompt_tokens + usage.completion_tokens
