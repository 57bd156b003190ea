"""Asking again: which failures, how often, after what pause.

The policy is pure; `RetryingModel` carries it out around any model client. Every attempt starts
from nothing, and a reply is whole before anything is run, so a stream that broke half-way leaves no
trace in the next attempt but its price.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence

import msgspec

from fakeprovider_harness import quantities
from fakeprovider_harness.cancel import SignalFired, unless
from fakeprovider_harness.clock import Clock, SystemClock
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


class GiveUp(msgspec.Struct, frozen=True):
    """Do not ask again. `reason` is `rate_limited`, `attempts`, `charged`, or None for an error
    that is not retried at all.
    """

    reason: str | None = None


class RetryPolicy(msgspec.Struct, frozen=True):
    """When to ask again. Times in seconds.

    `attempts` bounds the requests of one question, the first included; None leaves it to the run's
    deadline, since an attempt cap ends a run that could well have waited. `charged` bounds the
    retries of requests that may have been charged (streams that broke, silence, unreadable replies)
    in any case: no budget is looked at between two attempts, so they overshoot it.

    The pause is what `Retry-After` says; one over `max_wait` ends the attempts as `rate_limited`.
    Without it, or where it says 0, the pause is drawn evenly between 0 and `base`, 2 `base`,
    4 `base`, … but not over `cap`: "full jitter", from M. Brooker, "Exponential Backoff And
    Jitter", AWS Architecture Blog, 2015.

    `after_output` off gives up where text or calls had arrived, for consumers that cannot take back
    what they showed.

    Raises `TypeError` or `ValueError` for a number that cannot be meant.
    """

    attempts: int | None = 8
    charged: int = 2
    base: float = 0.5
    cap: float = 30.0
    max_wait: float = 60.0
    after_output: bool = True

    def __post_init__(self) -> None:
        quantities.whole("RetryPolicy: attempts", self.attempts, 1)
        quantities.whole("RetryPolicy: charged", self.charged, optional=False)
        for name in ("base", "cap", "max_wait"):
            quantities.amount(f"RetryPolicy: {name}", getattr(self, name), optional=False)

    def decide(
        self, error: ModelError, failures: int, charged: int, draw: Callable[[], float]
    ) -> float | GiveUp:
        """The pause before the next attempt, or why there is none.

        `failures` counts the failed attempts so far, `charged` those of them that may have been
        charged, both with this one; `draw` returns a number from 0 to 1.
        """
        if not error.retryable or (_has_output(error) and not self.after_output):
            return GiveUp()
        if (error.retry_after or 0) > self.max_wait:
            return GiveUp("rate_limited")
        if self.attempts is not None and failures >= self.attempts:
            return GiveUp("attempts")
        if error.partial is not None and charged > self.charged:
            return GiveUp("charged")
        return error.retry_after or draw() * self._ceiling(failures)

    def _ceiling(self, failures: int) -> float:
        return min(self.cap, self.base * 2.0 ** min(failures - 1, 60))


class RetryBudget:
    """How many retries a whole tree of runs has left: share one object among them.

    Without it, a tree of sub-agents against a service in trouble multiplies its own load. None is
    no limit, 0 is none at all. Safe to use from several threads.
    """

    def __init__(self, retries: int | None = 100) -> None:
        quantities.whole("RetryBudget: retries", retries)
        self._left = retries
        self._lock = threading.Lock()

    @property
    def left(self) -> int | None:
        """Retries left; None without a limit."""
        return self._left

    def take(self) -> bool:
        """Use one retry; False where none is left."""
        with self._lock:
            if self._left is None:
                return True
            if self._left <= 0:
                return False
            self._left -= 1
            return True


class Retry(msgspec.Struct, frozen=True):
    """What `on_retry` is told: a request failed, and another follows after `wait` seconds.

    `discard` is the number of characters that `on_text` had been given of the failed attempt, and
    that are to be taken back.
    """

    failures: int
    wait: float
    message: str
    status: int | None
    discard: int


class RetryingModel:
    """A `Model` that asks `model` again where the policy says so.

    Failed attempts are reported on the reply (or on the error, or the cancellation) as `attempts`,
    each with what it may have cost and how long was waited after it, so that the loop can charge
    the one and leave the other out of its active time. Raises ValueError for a model that retries
    already: two layers multiply.
    """

    def __init__(
        self,
        model: Model,
        policy: RetryPolicy | None = None,
        budget: RetryBudget | None = None,
        *,
        clock: Clock | None = None,
        draw: Callable[[], float] = random.random,
        on_retry: Callable[[Retry], None] | None = None,
    ) -> None:
        if isinstance(model, RetryingModel):
            raise ValueError("the model retries already: two layers of retries multiply")
        self.name = model.name
        self.policy = policy or RetryPolicy()
        self.budget = budget or RetryBudget()
        self._model = model
        self._clock = clock or SystemClock()
        self._draw = draw
        self._on_retry = on_retry

    async def ask(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        *,
        max_output: int | None = None,
        cancel: CancelSignal | None = None,
        on_text: Callable[[str], None] | None = None,
    ) -> ModelReply:
        """As `Model.ask`, again and again."""
        failed: list[Attempt] = []
        while True:
            shown = _Shown(on_text)
            try:
                reply = await self._model.ask(
                    messages,
                    tools,
                    max_output=max_output,
                    cancel=cancel,
                    on_text=shown.take if on_text else None,
                )
            except ModelCancelled as cancelled:
                raise ModelCancelled(partial=cancelled.partial, attempts=tuple(failed)) from None
            except ModelError as error:
                wait = self._wait_after(error, failed)
                self._tell(error, len(failed) + 1, wait, shown.characters)
                await self._pause(wait, error, failed, cancel)
            else:
                return _with_attempts(reply, failed)

    async def aclose(self) -> None:
        """Close the model."""
        await self._model.aclose()

    def _wait_after(self, error: ModelError, failed: list[Attempt]) -> float:
        """The pause before the next attempt; raises `error` where there is none."""
        charged = sum(attempt.partial is not None for attempt in failed)
        charged += error.partial is not None
        verdict = self.policy.decide(error, len(failed) + 1, charged, self._draw)
        if not isinstance(verdict, GiveUp) and not self.budget.take():
            verdict = GiveUp("budget")
        if isinstance(verdict, GiveUp):
            error.attempts, error.gave_up = tuple(failed), verdict.reason
            raise error
        return verdict

    def _tell(self, error: ModelError, failures: int, wait: float, discard: int) -> None:
        if self._on_retry is not None:
            self._on_retry(Retry(failures, wait, str(error), error.status, discard))

    async def _pause(
        self,
        wait: float,
        error: ModelError,
        failed: list[Attempt],
        cancel: CancelSignal | None,
    ) -> None:
        """Wait, unless the signal comes, and add the failure to `failed` with the time it took."""
        began = self._clock.monotonic()
        try:
            await unless(cancel, self._clock.sleep(wait))
        except SignalFired:
            failed.append(_attempt(error, self._clock.monotonic() - began))
            raise ModelCancelled(attempts=tuple(failed)) from None
        failed.append(_attempt(error, self._clock.monotonic() - began))


class _Shown:
    """Passes text on and counts it."""

    def __init__(self, on_text: Callable[[str], None] | None) -> None:
        self._on_text = on_text
        self.characters = 0

    def take(self, text: str) -> None:
        self.characters += len(text)
        if self._on_text is not None:
            self._on_text(text)


def _has_output(error: ModelError) -> bool:
    return error.partial is not None and bool(error.partial.text or error.partial.calls)


def _attempt(error: ModelError, waited: float) -> Attempt:
    return Attempt(str(error), error.status, error.code, waited, error.partial)


def _with_attempts(reply: ModelReply, failed: list[Attempt]) -> ModelReply:
    return msgspec.structs.replace(reply, attempts=tuple(failed)) if failed else reply
