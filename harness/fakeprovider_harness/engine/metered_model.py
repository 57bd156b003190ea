"""The model as a run asks it: each attempt is admitted, marked, sent and charged.

So no attempt goes uncounted, be it a turn of the conversation or a request beside it, such as a
summary or a check; and a client that does not heed the signal is cut off.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import partial
from typing import Any

import msgspec

from fakeprovider_harness.budget import charging
from fakeprovider_harness.budget.budget_tree import Grant
from fakeprovider_harness.budget.charging import Pricing
from fakeprovider_harness.cancel import tell
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
from fakeprovider_harness.outcomes import Stop
from fakeprovider_harness.state import Purpose, Request


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
            reply = await _unless_deaf(request, self._run.settings.grace, cancel)
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


async def _unless_deaf(
    request: Coroutine[Any, Any, ModelReply], grace: float, cancel: CancelSignal | None
) -> ModelReply:
    """The model's reply; a client that does not heed the signal is cut off after the grace."""
    loop = asyncio.get_running_loop()
    task = loop.create_task(request)

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
