"""Retries: which failures, how often, after what pause; on a clock that only moves when told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakeprovider_harness.cancel import Cancel
from fakeprovider_harness.clock import FakeClock
from fakeprovider_harness.models import (
    Attempt,
    Call,
    CancelSignal,
    ChatModel,
    Message,
    ModelCancelled,
    ModelError,
    ModelReply,
    Timeouts,
    ToolSpec,
    Usage,
)
from fakeprovider_harness.models.errors import retry_after
from fakeprovider_harness.models.retry import GiveUp, Retry, RetryBudget, RetryingModel, RetryPolicy

if TYPE_CHECKING:
    from tests.harness.conftest import FakeTime, Wire

USER = [Message("user", "hi")]
OK = ModelReply("done", finish="stop")


class Scripted:
    """A model that answers in order; the last answer for ever. Text given first is shown."""

    name = "scripted"

    def __init__(self, *answers: ModelReply | ModelError | ModelCancelled) -> None:
        self._answers = answers
        self.asked = 0
        self.closed = False

    async def ask(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        *,
        max_output: int | None = None,
        cancel: CancelSignal | None = None,
        on_text: Callable[[str], None] | None = None,
    ) -> ModelReply:
        answer = self._answers[min(self.asked, len(self._answers) - 1)]
        self.asked += 1
        shown = answer if isinstance(answer, ModelReply) else answer.partial
        if on_text and shown and shown.text:
            on_text(shown.text)
        if isinstance(answer, (ModelError, ModelCancelled)):
            raise answer
        return answer

    async def aclose(self) -> None:
        self.closed = True


def limited(after: float | None = None, status: int = 429) -> ModelError:
    return ModelError("slow down", status=status, retryable=True, retry_after=after)


def broken(text: str = "") -> ModelError:
    return ModelError("broken", retryable=True, partial=ModelReply(text))


def ask(model: RetryingModel, **settings: Any) -> ModelReply:
    return asyncio.run(model.ask(USER, [], **settings))


def retrying(*answers: Any, **settings: Any) -> tuple[RetryingModel, Scripted, FakeClock]:
    inner, clock = Scripted(*answers), FakeClock(0.0)
    settings.setdefault("draw", lambda: 1.0)
    return RetryingModel(inner, clock=clock, **settings), inner, clock


def failure(model: RetryingModel, **settings: Any) -> ModelError:
    with pytest.raises(ModelError) as caught:
        ask(model, **settings)
    return caught.value


# ---------------------------------------------------------------- CX02


def test_cx02a_retry_after_is_waited_exactly() -> None:
    model, inner, clock = retrying(limited(2.0), OK)
    reply = ask(model)
    assert (reply.text, inner.asked, clock.now) == ("done", 2, 2.0)
    assert reply.attempts == (Attempt("slow down", 429, None, 2.0, None),)


def test_cx02b_a_wait_over_the_ceiling_is_given_up_at_once() -> None:
    model, inner, clock = retrying(limited(86_400.0), OK)
    error = failure(model)
    assert (error.gave_up, error.status, error.retry_after) == ("rate_limited", 429, 86_400.0)
    assert (inner.asked, clock.now) == (1, 0.0)


@pytest.mark.parametrize(
    "error",
    [
        ModelError("quota", status=429, code="insufficient_quota"),
        ModelError("bad request", status=400),
        ModelError("too long", status=400, code="context_length_exceeded"),
    ],
)
def test_cx02c_and_f_what_waiting_cannot_mend_is_not_retried(error: ModelError) -> None:
    model, inner, clock = retrying(error)
    assert failure(model) is error
    assert (inner.asked, clock.now, error.attempts, error.gave_up) == (1, 0.0, (), None)


def test_cx02d_waits_grow_from_one_failure_to_the_next() -> None:
    model, inner, clock = retrying(*[limited(status=503)] * 3, OK)
    reply = ask(model)
    assert [attempt.waited for attempt in reply.attempts] == [0.5, 1.0, 2.0]
    assert (inner.asked, clock.now) == (4, 3.5)


def test_cx02e_without_an_attempt_cap_only_the_signal_ends_the_waiting() -> None:
    class Deadline(FakeClock):
        """Sets the signal when its minute is over, as a run's deadline would."""

        async def sleep(self, seconds: float) -> None:
            passed = min(seconds, 60.0 - self.now)
            await super().sleep(passed)
            if self.now >= 60.0:
                signal.set()
                await asyncio.sleep(3600)

    async def run() -> tuple[ModelCancelled, float, int]:
        clock, inner = Deadline(0.0), Scripted(limited())
        model = RetryingModel(inner, RetryPolicy(attempts=None), clock=clock, draw=lambda: 1.0)
        with pytest.raises(ModelCancelled) as caught:
            await model.ask(USER, [], cancel=signal)
        return caught.value, clock.now, inner.asked

    signal = Cancel()
    cancelled, now, asked = asyncio.run(run())
    assert now == 60.0
    assert len(cancelled.attempts) == asked
    assert sum(attempt.waited for attempt in cancelled.attempts) == 60.0
    assert cancelled.partial is None


def test_the_wait_is_cancelled_at_once(fake_time: type[FakeTime]) -> None:
    async def run() -> float:
        loop, signal = asyncio.get_running_loop(), Cancel()

        class LoopClock(FakeClock):
            def monotonic(self) -> float:
                return loop.time()

            async def sleep(self, seconds: float) -> None:
                await asyncio.sleep(seconds)

        model = RetryingModel(Scripted(limited(50.0)), clock=LoopClock())
        loop.call_later(3.0, signal.set)
        with pytest.raises(ModelCancelled) as caught:
            await model.ask(USER, [], cancel=signal)
        assert [attempt.waited for attempt in caught.value.attempts] == [3.0]
        return loop.time()

    assert fake_time.run(run()) == 3.0


# ---------------------------------------------------------------- the policy


@pytest.mark.parametrize("after", [None, 0.0])
def test_full_jitter_draws_between_nothing_and_a_doubling_ceiling(after: float | None) -> None:
    policy, error = RetryPolicy(base=1.0, cap=10.0), limited(after)
    waits = [policy.decide(error, n, 0, lambda: 1.0) for n in range(1, 7)]
    assert waits == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]
    assert policy.decide(error, 3, 0, lambda: 0.25) == 1.0
    assert policy.decide(error, 1, 0, lambda: 0.0) == 0.0


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 10_000), st.floats(0, 1), st.none() | st.floats(0, 60))
def test_no_wait_exceeds_its_ceiling(failures: int, draw: float, after: float | None) -> None:
    policy = RetryPolicy(attempts=None)
    wait = policy.decide(limited(after), failures, 0, lambda: draw)
    assert not isinstance(wait, GiveUp)
    assert 0 <= wait <= max(policy.cap, policy.max_wait)
    if after:
        assert wait == after


def test_attempts_are_counted_with_the_first() -> None:
    model, inner, _ = retrying(limited(), policy=RetryPolicy(attempts=3))
    error = failure(model)
    assert (inner.asked, error.gave_up, len(error.attempts)) == (3, "attempts", 2)
    once, inner, _ = retrying(limited(), policy=RetryPolicy(attempts=1))
    assert failure(once).gave_up == "attempts"
    assert inner.asked == 1


def test_requests_that_may_have_been_charged_are_repeated_twice_at_most() -> None:
    model, inner, _ = retrying(broken("half"), policy=RetryPolicy(attempts=None))
    error = failure(model)
    assert (inner.asked, error.gave_up, len(error.attempts)) == (3, "charged", 2)


def test_free_failures_between_charged_ones_do_not_reset_the_count() -> None:
    answers = [broken(), limited(), broken(), limited(), broken(), OK]
    model, inner, _ = retrying(*answers)
    assert failure(model).gave_up == "charged"
    assert inner.asked == 5


def test_after_output_off_gives_up_where_something_was_shown() -> None:
    policy = RetryPolicy(after_output=False)
    model, inner, _ = retrying(broken("shown"), OK, policy=policy)
    failure(model)
    assert inner.asked == 1
    silent, inner, _ = retrying(broken(""), OK, policy=policy)
    assert ask(silent).text == "done"


def test_one_budget_serves_the_whole_tree() -> None:
    budget = RetryBudget(3)
    parent, _, _ = retrying(limited(), limited(), OK, budget=budget)
    child, inner, _ = retrying(limited(), budget=budget)
    ask(parent)
    error = failure(child)
    assert (error.gave_up, inner.asked, budget.left) == ("budget", 2, 0)


def test_a_budget_of_0_is_no_retry_and_none_is_no_limit() -> None:
    none, inner, _ = retrying(limited(), OK, budget=RetryBudget(0))
    assert failure(none).gave_up == "budget"
    assert inner.asked == 1
    unlimited, inner, _ = retrying(*[limited()] * 5, OK, budget=RetryBudget(None))
    assert ask(unlimited).text == "done"


def test_an_error_that_is_not_retried_uses_no_budget() -> None:
    budget = RetryBudget(1)
    model, _, _ = retrying(ModelError("x", status=400), budget=budget)
    failure(model)
    assert budget.left == 1


def test_two_layers_of_retries_are_refused() -> None:
    model, _, _ = retrying(OK)
    with pytest.raises(ValueError, match="multiply"):
        RetryingModel(model)


# ---------------------------------------------------------------- what the loop is told


def test_both_attempts_are_reported_for_the_bill() -> None:
    half = ModelReply("half", (Call("a", "f", "{}"),), usage=Usage(10, 2, estimated=True))
    error = ModelError("broken", retryable=True, partial=half)
    model, _, _ = retrying(error, ModelReply("whole", usage=Usage(10, 5)))
    reply = ask(model)
    assert (reply.text, reply.calls) == ("whole", ())
    assert [attempt.partial for attempt in reply.attempts] == [half]


def test_a_cancelled_attempt_still_reports_those_before_it() -> None:
    half = ModelReply("half")
    model, _, _ = retrying(broken("lost"), ModelCancelled(partial=half))
    with pytest.raises(ModelCancelled) as caught:
        ask(model)
    assert caught.value.partial == half
    assert [attempt.partial for attempt in caught.value.attempts] == [ModelReply("lost")]


def test_consumers_are_told_what_to_drop() -> None:
    seen: list[str] = []
    told: list[Retry] = []
    model, _, _ = retrying(broken("Hello wor"), ModelReply("Hello world"), on_retry=told.append)
    ask(model, on_text=seen.append)
    assert seen == ["Hello wor", "Hello world"]
    assert told == [Retry(1, 0.5, "broken", None, len("Hello wor"))]


def test_a_reply_at_the_first_attempt_is_passed_on_as_it_is() -> None:
    model, _, _ = retrying(OK)
    assert ask(model) is OK
    assert model.name == "scripted"


def test_closing_closes_the_model() -> None:
    model, inner, _ = retrying(OK)
    asyncio.run(model.aclose())
    assert inner.closed


# ---------------------------------------------------------------- Retry-After in three forms

NOW = 1_700_000_000.0  # Tue, 14 Nov 2023 22:13:20 GMT


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:50 GMT"}, 30.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:00 GMT"}, 0.0),
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_in_its_three_forms(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after(headers, NOW) == seconds


def test_a_date_is_compared_with_the_clock_of_the_service_if_it_tells_it() -> None:
    headers = {
        "retry-after": "Tue, 14 Nov 2023 22:13:50 GMT",
        "date": "Tue, 14 Nov 2023 22:13:40 GMT",
    }
    assert retry_after(headers, NOW) == 10.0


# ---------------------------------------------------------------- over real sockets


def over_socket(wire: Any, *answers: Any, **settings: Any) -> tuple[ModelReply, int]:
    async def run() -> tuple[ModelReply, int]:
        async with wire.Server(*answers) as server:
            inner = ChatModel(server.url, stream=True, timeouts=Timeouts(stall=0.05))
            model = RetryingModel(inner, clock=FakeClock(), **settings)
            try:
                return await model.ask(USER, []), len(server.requests)
            finally:
                await model.aclose()

    return asyncio.run(run())


@pytest.mark.parametrize("end", ["RST", "HOLD", "EOF"])
def test_a_stream_that_broke_leaves_nothing_in_the_next_attempt(wire: type[Wire], end: str) -> None:
    ends = {"RST": [wire.RST], "HOLD": [wire.HOLD], "EOF": []}
    first = [
        wire.D({"content": "Hello wor"}),
        wire.D(wire.calls(wire.tool(0, "a", "run", arguments='{"code":"pri'))),
        *ends[end],
    ]
    second = [
        wire.D({"content": "Hello world"}),
        wire.D(wire.calls(wire.tool(0, "b", "run", arguments='{"code":"print(1)"}'))),
        wire.F("tool_calls"),
        wire.DONE,
    ]
    reply, requests = over_socket(wire, first, second)
    assert requests == 2
    assert (reply.text, reply.calls) == ("Hello world", (Call("b", "run", '{"code":"print(1)"}'),))
    (attempt,) = reply.attempts
    assert attempt.partial is not None
    assert attempt.partial.text == "Hello wor"
    assert attempt.partial.calls[0].arguments == '{"code":"pri'


def test_requests_equal_attempts_over_the_socket(wire: type[Wire]) -> None:
    busy = wire.json(b'{"error":{"message":"x"}}', status=503)
    fine = [wire.D({"content": "x"}), wire.F("stop"), wire.DONE]
    reply, requests = over_socket(wire, busy, busy, busy, fine)
    assert (requests, len(reply.attempts)) == (4, 3)
    assert all(attempt.partial is None for attempt in reply.attempts)


def test_an_overload_inside_the_stream_before_any_output_is_retried(wire: type[Wire]) -> None:
    error = wire.data({"error": {"type": "overloaded_error", "message": "Overloaded"}})
    fine = [wire.D({"content": "x"}), wire.F("stop"), wire.DONE]
    reply, requests = over_socket(wire, [error], fine)
    assert (reply.text, requests, reply.attempts[0].status) == ("x", 2, 529)
