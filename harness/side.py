"""Requests beside the conversation, such as a summary: admitted, marked, charged, reported."""

from __future__ import annotations

from collections.abc import Sequence

from harness import charging
from harness.alarm import alarm
from harness.charging import Pricing
from harness.leg import Leg
from harness.metering import NotAdmitted
from harness.models.base import (
    Message,
    Model,
    ModelCancelled,
    ModelError,
    ModelReply,
    ToolSpec,
)
from harness.pauses import Pauses
from harness.retry import RetryingModel
from harness.state import Purpose, Request
from harness.tree import Grant
from harness.ways_out import Stop


async def ask_beside(
    leg: Leg,
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
    asked, pricing = model or leg.model, price if model is not None else leg.pricing
    tools = leg.toolbox.specs if model is None else ()
    grant = leg.account.admit(
        charging.bytes_of_all(prompt) + charging.bytes_of_tools(tools),
        max_output,
        leg.settings.assumed_output,
        charging.price_of(pricing, asked.name),
    )
    if isinstance(grant, Stop):
        raise NotAdmitted(grant)
    try:
        return await _granted(leg, purpose, prompt, tools, _patient(leg, asked), pricing, grant)
    finally:
        leg.account.release(grant)


def _patient(leg: Leg, model: Model) -> Model:
    """The model, asked again as the run's own retry policy says."""
    policy = leg.account.retry
    if policy is None or isinstance(model, RetryingModel):
        return model
    return RetryingModel(model, policy, leg.account.retries, clock=Pauses(leg))


async def _granted(
    leg: Leg,
    purpose: Purpose,
    prompt: Sequence[Message],
    tools: Sequence[ToolSpec],
    model: Model,
    pricing: Pricing,
    grant: Grant,
) -> ModelReply | None:
    leg.state.request = Request(len(leg.state.turns) + 1, grant.need.prompt, grant.need.output)
    leg.save()
    reply: ModelReply | None = None
    try:
        async with alarm(leg) as signal:
            reply = await model.ask(prompt, tools, max_output=grant.max_output, cancel=signal)
        spent = [*(attempt.partial for attempt in reply.attempts), reply]
    except (ModelError, ModelCancelled) as error:
        spent = [*(attempt.partial for attempt in error.attempts), error.partial]
    leg.state.request = None
    for part in spent:
        if part is not None:
            usage = part.usage or charging.estimated(part, grant.need.prompt)
            cost = charging.cost_of(pricing, part.model or model.name, usage)
            leg.charge_beside(purpose, usage, cost)
    leg.save()
    return reply
