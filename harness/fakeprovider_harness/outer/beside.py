"""Requests of a check between two runs: sent as they are, and counted."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from fakeprovider_harness.budget import charging
from fakeprovider_harness.budget.charging import Pricing
from fakeprovider_harness.cancel import Cancel
from fakeprovider_harness.models.base import (
    Message,
    Model,
    ModelCancelled,
    ModelError,
    ModelReply,
    Usage,
)


class Beside:
    """Asks for a check, and adds up what that costs: tokens, and USD."""

    def __init__(self, cancel: Cancel) -> None:
        self._cancel = cancel
        self.input_tokens = self.output_tokens = self.unpriced = 0
        self.cost_usd = Decimal(0)

    async def ask(
        self, prompt: Sequence[Message], model: Model, price: Pricing, max_output: int | None
    ) -> ModelReply | None:
        """One request; None where no reply came."""
        reply: ModelReply | None = None
        try:
            reply = await model.ask(prompt, (), max_output=max_output, cancel=self._cancel)
            spent = [*(attempt.partial for attempt in reply.attempts), reply]
        except (ModelError, ModelCancelled) as error:
            spent = [*(attempt.partial for attempt in error.attempts), error.partial]
        for part in spent:
            if part is not None:
                usage = part.usage or charging.estimated(part, charging.bytes_of_all(prompt))
                self.charge(usage, charging.cost_of(price, part.model or model.name, usage))
        return reply

    def charge(self, usage: Usage, cost_usd: Decimal | None) -> None:
        """Add one request."""
        self.input_tokens += usage.prompt_tokens
        self.output_tokens += usage.completion_tokens
        if cost_usd is None:
            self.unpriced += 1
        else:
            self.cost_usd += cost_usd
