"""Public reports about providers in trouble: retries, waits, silence, streams that break."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fakeprovider_harness import (
    ActiveTime,
    Cancel,
    Deadline,
    FakeClock,
    ListTrace,
    MaxTurns,
    Price,
    RetryBudget,
    RetryingModel,
    RetryPolicy,
    RunState,
    Settings,
    Status,
    run,
    subagent,
)
from fakeprovider_harness.models.base import Attempt, ModelError, ModelReply, Usage
from fakeprovider_harness.models.scripted import ScriptedModel, calls, says
from fakeprovider_harness.trace import RequestRetried

PATIENT = Settings(retry=RetryPolicy(attempts=None))


RETRY = Settings(retry=RetryPolicy())


def start() -> RunState:
    return RunState.start("task", run_id="r")


def limited(after: float | None = None) -> ModelError:
    return ModelError("429: slow down", status=429, retryable=True, retry_after=after)


def down(status: int = 503) -> ModelError:
    return ModelError(f"{status}: down", status=status, retryable=True)


class Counted(ScriptedModel):
    """Counts requests, those that fail included; `clock` moves a second with each."""

    def __init__(self, script: Any, clock: FakeClock | None = None, **given: Any) -> None:
        super().__init__(script, **given)
        self.clock = clock

    async def ask(self, *given: Any, **more: Any) -> ModelReply:
        if self.clock is not None:
            self.clock.advance(1)
        return await super().ask(*given, **more)


def test_what_retry_after_says_is_waited(price: Price, check: Callable[..., None]) -> None:
    clock, trace = FakeClock(0), ListTrace()
    model = Counted([limited(2), says("done")])
    state = run(
        start(), model=model, stop=None, settings=RETRY, clock=clock, trace=trace, price=price
    )
    assert (state.status, len(model.requests), clock.now) == (Status.COMPLETED, 2, 2)
    (retried,) = (e for e in trace.events if isinstance(e, RequestRetried))
    assert (retried.turn, retried.failures, retried.wait, retried.status) == (1, 1, 2, 429)
    check(state, model, trace)


def test_a_wait_of_a_day_ends_the_leg_and_the_run_can_go_on() -> None:
    clock, model = FakeClock(0), Counted([limited(86_400), says("done")])
    state = run(start(), model=model, stop=None, settings=RETRY, clock=clock)
    assert (state.status, state.reason, clock.now) == ("no_progress", "rate_limited", 0)
    assert state.stop is not None
    assert state.stop.evidence["gave_up"] == "rate_limited"
    assert run(state, model=model, stop=None, settings=RETRY).status is Status.COMPLETED


@pytest.mark.parametrize(
    "error",
    [
        ModelError("quota", status=429, code="insufficient_quota"),
        ModelError("400: no", status=400),
        ModelError("401: no", status=401),
    ],
)
def test_what_no_waiting_can_mend_is_not_retried(error: ModelError) -> None:
    model = Counted([error])
    state = run(start(), model=model, stop=None, settings=RETRY, clock=FakeClock())
    assert (state.status, state.reason, len(model.requests)) == ("failed", "provider_error", 1)


def test_trouble_that_passes_is_waited_out_with_growing_pauses() -> None:
    clock, trace = FakeClock(0), ListTrace()
    model = Counted([down(), down(), down(), says("done")])
    state = run(start(), model=model, stop=None, settings=RETRY, clock=clock, trace=trace)
    waits = [event.wait for event in trace.events if isinstance(event, RequestRetried)]
    assert (state.status, len(model.requests)) == (Status.COMPLETED, 4)
    assert all(0 <= wait <= most for wait, most in zip(waits, (0.5, 1, 2), strict=True))
    assert state.times.waited == pytest.approx(sum(waits))
    assert state.times.active == pytest.approx(0)


def test_a_limit_that_never_lifts_ends_at_the_deadline_and_not_before() -> None:
    clock = FakeClock(0)
    model = Counted([limited(7)], forever=True)
    state = run(start(), model=model, stop=Deadline(60), settings=PATIENT, clock=clock)
    assert (state.status, state.reason, clock.now) == ("deadline_exceeded", "deadline", 60)
    assert state.stop is not None
    assert state.stop.overshoot == 0
    assert len(model.requests) == 9
    assert (state.times.waited, state.times.active) == (60, 0)
    assert state.resumable


def test_waiting_is_not_active_time() -> None:
    clock = FakeClock(0)
    script = [limited(50), limited(50), says("done")]
    model = Counted(script, clock)
    state = run(start(), model=model, stop=ActiveTime(60), settings=PATIENT, clock=clock)
    assert (state.status, state.times.active, state.times.waited) == (Status.COMPLETED, 3, 100)


def test_the_pause_of_a_client_that_retries_by_itself_is_left_out_too() -> None:
    clock = FakeClock(0)

    def reply(n: int, _: Any) -> ModelReply:
        clock.advance(61)
        attempt = Attempt("503", status=503, waited=60.0)
        return ModelReply("ok", finish="stop", usage=Usage(1, 1), attempts=(attempt,))

    state = run(start(), model=ScriptedModel(reply), stop=ActiveTime(30), clock=clock)
    assert (state.status, state.times.active) == (Status.COMPLETED, 1)


def test_a_wait_can_be_cancelled() -> None:
    cancel, trace = Cancel(), ListTrace()

    def watch(event: Any) -> None:
        trace(event)
        if isinstance(event, RequestRetried):
            cancel.set("user pressed Stop")

    model = Counted([limited(60)], forever=True)
    state = run(start(), model=model, stop=None, settings=RETRY, cancel=cancel, trace=watch)
    assert (state.status, state.reason, len(model.requests)) == (
        "interrupted",
        "user pressed Stop",
        1,
    )
    assert (state.lost, state.input_tokens) == ([], 0)


def test_two_layers_of_retries_are_refused() -> None:
    with pytest.raises(ValueError, match="two layers of retries multiply"):
        run(start(), model=RetryingModel(Counted([says("x")])), stop=None, settings=RETRY)


def test_a_client_that_retries_is_left_alone_by_what_its_parent_would_do() -> None:
    """The retries that a sub-agent inherits are not put around a client that has its own."""
    inner = Counted([down(), says("found")], name="child")
    child = RetryingModel(inner, clock=FakeClock())
    research = subagent("research", "Ask.", model=child, tools=[], stop=MaxTurns(3))
    model = Counted([calls(("a", "research", {"question": "?"})), says("done")])
    state = run(start(), model=model, tools=[research], stop=None, settings=RETRY)
    assert (state.status, len(inner.requests)) == (Status.COMPLETED, 2)


def test_one_budget_of_retries_for_the_whole_tree() -> None:
    child = Counted([down()], name="child", forever=True)
    research = subagent("research", "Ask.", model=child, tools=[], stop=MaxTurns(3))
    script = [down(), calls(("a", "research", {"question": "?"})), down()]
    model = Counted(script)
    switches = Settings(retry=RetryPolicy(), retries=4)
    state = run(
        start(), model=model, tools=[research], stop=None, settings=switches, clock=FakeClock()
    )
    assert (len(child.requests), len(model.requests)) == (4, 3)
    assert (state.reason, state.stop and state.stop.evidence["gave_up"]) == (
        "provider_unavailable",
        "budget",
    )


def test_a_retry_budget_of_ones_own_is_shared_by_handing_it_over() -> None:
    shared = RetryBudget(1)
    for expected in (Status.COMPLETED, "no_progress"):
        model = RetryingModel(Counted([down(), says("x")]), budget=shared, clock=FakeClock())
        assert run(start(), model=model, stop=None).status == expected
