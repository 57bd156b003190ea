"""Requests beside the conversation, such as a summary: admitted, marked, charged, reported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from fakeprovider_harness.budget import charging
from fakeprovider_harness.budget.budget_tree import Grant
from fakeprovider_harness.budget.charging import Pricing
from fakeprovider_harness.deadline import alarm
from fakeprovider_harness.engine.metered_model import NotAdmitted
from fakeprovider_harness.engine.run_context import Pauses, RunContext
from fakeprovider_harness.models.base import (
    Attempt,
    CancelSignal,
    Message,
    Model,
    ModelCancelled,
    ModelError,
    ModelReply,
    ToolSpec,
)
from fakeprovider_harness.models.retry import RetryingModel
from fakeprovider_harness.outcomes import Stop
from fakeprovider_harness.state import Purpose, Request


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
    own = model is None
    asked = _Beside(run, purpose, model or run.model, run.pricing if own else price)
    tools = run.toolbox.specs if own else ()
    try:
        async with alarm(run) as signal:
            return await asked.patiently(prompt, tools, max_output, signal)
    except (ModelError, ModelCancelled):
        return None


class _Beside:
    """A client for one purpose: each attempt is admitted, and has been charged when it is over."""

    def __init__(self, run: RunContext, purpose: Purpose, model: Model, pricing: Pricing) -> None:
        self.name = model.name
        self._run, self._purpose, self._model, self._pricing = run, purpose, model, pricing

    async def patiently(
        self,
        prompt: Sequence[Message],
        tools: Sequence[ToolSpec],
        max_output: int | None,
        cancel: CancelSignal,
    ) -> ModelReply:
        """Ask again as the run's own retry policy says."""
        policy = self._run.account.retry
        if policy is None or isinstance(self._model, RetryingModel):
            return await self.ask(prompt, tools, max_output=max_output, cancel=cancel)
        pauses = Pauses(self._run)
        retrying = RetryingModel(self, policy, self._run.account.retries, clock=pauses)
        return await retrying.ask(prompt, tools, max_output=max_output, cancel=cancel)

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
        try:
            self._mark(grant)
            reply = await self._model.ask(
                messages, tools, max_output=grant.max_output, cancel=cancel, on_text=on_text
            )
        except (ModelError, ModelCancelled) as error:
            self._charge(error.attempts, error.partial, grant)
            raise
        else:
            self._charge(reply.attempts, reply, grant)
            return reply
        finally:
            self._run.account.release(grant)

    async def aclose(self) -> None:
        """The client is the caller's to close."""

    def _admit(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], max_output: int | None
    ) -> Grant:
        grant = self._run.account.admit(
            charging.bytes_of_all(messages) + charging.bytes_of_tools(tools),
            max_output,
            self._run.settings.assumed_output,
            charging.price_of(self._pricing, self.name),
        )
        if isinstance(grant, Stop):
            raise NotAdmitted(grant)
        return grant

    def _mark(self, grant: Grant) -> None:
        state = self._run.state
        state.request = Request(len(state.turns) + 1, grant.need.prompt, grant.need.output)
        self._run.save(durable=True)

    def _charge(self, attempts: Iterable[Attempt], last: ModelReply | None, grant: Grant) -> None:
        self._run.state.request = None
        for part in (*(attempt.partial for attempt in attempts), last):
            if part is not None:  # None: the provider cannot have charged
                usage = part.usage or charging.estimated(part, grant.need.prompt)
                cost = charging.cost_of(self._pricing, part.model or self.name, usage)
                self._run.charge_beside(self._purpose, usage, cost)
        self._run.save()
