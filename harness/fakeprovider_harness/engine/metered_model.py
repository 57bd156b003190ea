"""One attempt at a request: admitted, marked, sent, charged; so that no attempt goes uncounted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import msgspec

from fakeprovider_harness.budget import charging
from fakeprovider_harness.budget.budget_tree import Grant
from fakeprovider_harness.cancel import tell
from fakeprovider_harness.engine.run_context import RunContext
from fakeprovider_harness.models.base import (
    Attempt,
    CancelSignal,
    Message,
    ModelCancelled,
    ModelError,
    ModelReply,
    ToolSpec,
    Usage,
)
from fakeprovider_harness.outcomes import Stop
from fakeprovider_harness.state import Request


class NotAdmitted(Exception):
    """A budget has no room for the request: it was not sent."""

    def __init__(self, stop: Stop) -> None:
        super().__init__(str(stop))
        self.stop = stop


class Metered:
    """A leg's model client. What it returns and what it raises has been charged already."""

    def __init__(self, run: RunContext) -> None:
        self.name = run.model.name
        self._run = run

    async def ask(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        *,
        max_output: int | None = None,
        cancel: CancelSignal | None = None,
        on_text: Callable[[str], None] | None = None,
    ) -> ModelReply:
        """As `Model.ask`; raises `NotAdmitted` where a reserved budget would not bear it."""
        run = self._run
        grant = self._admit(max_output)
        try:
            self._mark(grant)
            reply = await _unless_deaf(run, messages, tools, grant.max_output, cancel, on_text)
        except ModelCancelled as cancelled:
            self._lost(cancelled.partial, cancelled.attempts, "cancelled", grant)
            raise
        except ModelError as error:
            self._lost(error.partial, error.attempts, str(error), grant)
            raise
        else:
            return self._paid(reply, grant)
        finally:
            run.account.release(grant)

    async def aclose(self) -> None:
        """The client is the caller's to close."""

    def _admit(self, max_output: int | None) -> Grant:
        run = self._run
        grant = run.account.admit(
            charging.prompt_bound(run.state, run.toolbox.specs, run.settings.max_result),
            max_output,
            run.settings.assumed_output,
            charging.price_of(run.pricing, run.model.name),
        )
        if isinstance(grant, Stop):
            raise NotAdmitted(grant)
        return grant

    def _mark(self, grant: Grant) -> None:
        """Write down that a request is about to be sent, and what it may cost at most."""
        state, need = self._run.state, grant.need
        cost = self._run.cost_of(Usage(need.prompt, need.output), None)
        state.request = Request(len(state.turns) + 1, need.prompt, need.output, cost)
        self._run.save(durable=True)

    def _paid(self, reply: ModelReply, grant: Grant) -> ModelReply:
        self._charge_attempts(reply.attempts, grant)
        usage = reply.usage or _estimated(reply, grant)
        self._run.overrun = _overrun(usage, grant)
        self._run.state.overrun += self._run.overrun
        self._run.charge(usage, reply.model)
        self._run.state.request = None
        return msgspec.structs.replace(reply, usage=usage)

    def _lost(
        self, partial: ModelReply | None, attempts: Iterable[Attempt], why: str, grant: Grant
    ) -> None:
        self._charge_attempts(attempts, grant)
        self._charge_partial(partial, why, grant)
        self._run.state.request = None
        self._run.save()

    def _charge_attempts(self, attempts: Iterable[Attempt], grant: Grant) -> None:
        """Those of a client that retries by itself."""
        for attempt in attempts:
            self._run.waited(attempt.waited)
            self._charge_partial(attempt.partial, attempt.message, grant)

    def _charge_partial(self, partial: ModelReply | None, why: str, grant: Grant) -> None:
        if partial is not None:  # None: the provider cannot have charged
            self._run.lose(partial.usage or _estimated(partial, grant), why)


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
    run: RunContext,
    messages: Sequence[Message],
    tools: Sequence[ToolSpec],
    max_output: int | None,
    cancel: CancelSignal | None,
    on_text: Callable[[str], None] | None,
) -> ModelReply:
    """The model's reply; a client that does not heed the signal is cut off after the grace."""
    loop = asyncio.get_running_loop()
    asking = asyncio.ensure_future(
        run.model.ask(messages, tools, max_output=max_output, cancel=cancel, on_text=on_text)
    )

    def cut_off() -> None:
        tell(loop, partial(loop.call_later, run.settings.grace, asking.cancel))

    forget = None if cancel is None else cancel.listen(cut_off)
    try:
        return await asking
    except asyncio.CancelledError as cancelled:
        if isinstance(cancelled, ModelCancelled) or cancel is None or not cancel.cancelled:
            raise
        raise ModelCancelled(partial=ModelReply()) from cancelled
    finally:
        if forget is not None:
            forget()
