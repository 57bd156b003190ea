"""Requests that break off: what is kept, charged and sent again, and when a run gives up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from effects_ledger import Ledger

from fakeprovider_harness import (
    ActiveTime,
    Deadline,
    FakeClock,
    ListTrace,
    MaxTokens,
    MaxTurns,
    Price,
    RetryPolicy,
    RunState,
    Settings,
    Status,
    Store,
    arun,
    run,
    subagent,
    tool,
)
from fakeprovider_harness.models.base import Call, ModelError, ModelReply, Usage
from fakeprovider_harness.models.scripted import ScriptedModel, calls, says
from fakeprovider_harness.trace import RequestLost, RequestRetried, RunStopped

RETRY = Settings(retry=RetryPolicy())


def start() -> RunState:
    return RunState.start("task", run_id="r")


def down(status: int = 503) -> ModelError:
    return ModelError(f"{status}: down", status=status, retryable=True)


def broken(text: str = "", *wanted: Call) -> ModelError:
    partial = ModelReply(text, wanted)
    return ModelError("connection failed", retryable=True, partial=partial)


class Counted(ScriptedModel):
    """Counts requests, those that fail included; `clock` moves a second with each."""

    def __init__(self, script: Any, clock: FakeClock | None = None, **given: Any) -> None:
        super().__init__(script, **given)
        self.clock = clock

    async def ask(self, *given: Any, **more: Any) -> ModelReply:
        if self.clock is not None:
            self.clock.advance(1)
        return await super().ask(*given, **more)


def test_a_stream_that_broke_leaves_nothing_behind_but_its_price(
    ledger: Ledger, check: Callable[..., None], price: Price
) -> None:
    trace = ListTrace()
    first = broken("Hi ", Call("a", "write", '{"x": 1}'))
    wanted = calls(("b", "write", {"x": 1}))
    model = Counted([first, wanted, says("done")])
    state = run(
        start(),
        model=model,
        tools=[ledger.write()],
        stop=None,
        settings=RETRY,
        clock=FakeClock(),
        trace=trace,
        price=price,
    )
    assert (ledger.done, state.answer) == ([1], "done")
    assert [call.id for m in state.messages for call in m.calls] == ["b"]
    assert "Hi" not in state.to_json()
    (lost,) = state.lost
    assert lost.usage.estimated
    reported = sum((price.cost(usage) for usage in model.charged), Decimal(0))
    assert state.cost_usd == reported + price.cost(lost.usage)
    assert [e.why for e in trace.events if isinstance(e, RequestLost)] == ["connection failed"]
    check(state, model, trace)


def test_what_was_shown_is_told_to_be_taken_back() -> None:
    shown: list[str] = []
    trace = ListTrace()

    class Streaming(ScriptedModel):
        async def ask(self, *given: Any, on_text: Any = None, **more: Any) -> ModelReply:
            if not self.requests:
                on_text("Hello wor")
            return await super().ask(*given, on_text=on_text, **more)

    model = Streaming([broken("Hello wor"), says("Hello world")])
    state = run(
        start(),
        model=model,
        stop=None,
        settings=RETRY,
        clock=FakeClock(),
        trace=trace,
        on_text=shown.append,
    )
    (retried,) = (event for event in trace.events if isinstance(event, RequestRetried))
    kept = "".join(shown)[retried.discard :]
    assert (kept, state.answer) == ("Hello world", "Hello world")


def test_the_other_policy_fails_once_something_was_shown(price: Price) -> None:
    model = Counted([broken("Hello wor"), says("never asked")])
    switches = Settings(retry=RetryPolicy(after_output=False))
    state = run(start(), model=model, stop=None, settings=switches, price=price)
    assert (state.reason, len(model.requests), state.answer) == ("provider_unavailable", 1, "")
    assert state.cost_usd > 0


def test_each_attempt_is_held_against_a_reserved_budget() -> None:
    """Two attempts that were charged and a third that would pass the limit: it is not sent."""
    attempt = ModelError(
        "reset", retryable=True, partial=ModelReply("x", usage=Usage(1_000, 1_000))
    )
    model = Counted([attempt], forever=True)
    switches = Settings(retry=RetryPolicy(charged=9), max_output=1_000)
    state = run(
        start(),
        model=model,
        stop=MaxTokens(5_000, reserve=True, least=1_000),
        settings=switches,
        clock=FakeClock(),
    )
    assert (state.reason, len(model.requests), state.total_tokens) == ("max_tokens", 2, 4_000)


def test_each_attempt_is_marked_and_charged_on_its_own(tmp_path: Path, price: Price) -> None:
    """A process that dies in the third attempt has the first two on its bill already."""
    saved: list[str] = []

    class Dies(ScriptedModel):
        async def ask(self, *given: Any, **more: Any) -> ModelReply:
            if len(self.requests) == 2:
                saved.append(store.load("r").to_json())
            return await super().ask(*given, **more)

    model = Dies([broken("a"), broken("b"), says("done")])
    with Store(tmp_path / "runs.db") as store:
        run(
            start(), model=model, stop=None, settings=RETRY, store=store, price=price,
            clock=FakeClock(),
        )  # fmt: skip
    left = RunState.from_json(saved[0])
    assert (len(left.lost), left.request is not None) == (2, True)
    state = run(left, model=ScriptedModel([says("done")]), stop=None, price=price)
    assert (state.status, len(state.lost)) == (Status.COMPLETED, 3)


class Silent:
    """A model that never answers, and heeds the signal or not."""

    name = "silent"

    def __init__(self, *, heeds: bool) -> None:
        self.heeds = heeds
        self.asked = 0

    async def ask(self, messages: Any, tools: Any, *, cancel: Any, **_: Any) -> ModelReply:
        self.asked += 1
        if self.heeds:
            await cancel.wait()
            from fakeprovider_harness.models.base import ModelCancelled

            raise ModelCancelled(partial=ModelReply("some text"))
        await asyncio.Event().wait()
        raise AssertionError

    async def aclose(self) -> None:
        return None


@pytest.mark.parametrize("heeds", [True, False])
@pytest.mark.parametrize("stop", [Deadline(60), ActiveTime(60)])
def test_silence_ends_at_the_runs_own_deadline_and_is_charged(
    heeds: bool, stop: Any, price: Price
) -> None:
    clock, trace, model = FakeClock(0), ListTrace(), Silent(heeds=heeds)
    state = start()

    async def go() -> None:
        running = asyncio.ensure_future(
            arun(
                state,
                model=model,
                stop=stop,
                clock=clock,
                price=price,
                trace=trace,
                settings=Settings(grace=0.01),
            )
        )
        while not model.asked:
            await asyncio.sleep(0)
        clock.advance(59)
        for _ in range(50):
            await asyncio.sleep(0)
        assert not running.done()
        clock.advance(1)
        await asyncio.wait_for(running, 5)

    asyncio.run(go())
    assert state.status == "deadline_exceeded"
    assert (state.times.elapsed, state.request) == (60, None)
    (lost,) = state.lost
    assert (lost.usage.estimated, state.cost_usd) == (True, price.cost(lost.usage))
    assert sum(isinstance(event, RunStopped) for event in trace.events) == 1


def test_the_deadline_of_a_run_ends_the_requests_of_its_sub_agents() -> None:
    clock, silent = FakeClock(0), Silent(heeds=True)
    research = subagent("research", "Ask.", model=silent, tools=[], stop=MaxTurns(3))
    model = ScriptedModel([calls(("a", "research", {"question": "?"})), says("done")])
    state = start()

    async def go() -> None:
        running = asyncio.ensure_future(
            arun(state, model=model, tools=[research], stop=Deadline(60), clock=clock)
        )
        while not silent.asked:
            await asyncio.sleep(0)
        clock.advance(60)
        await asyncio.wait_for(running, 5)

    asyncio.run(go())
    assert (state.status, state.reason) == ("deadline_exceeded", "deadline")
    (result,) = (m for m in state.messages if m.role == "tool")
    assert "no result (deadline (60" in (result.content or "")
    assert (silent.asked, len(model.requests)) == (1, 1)


def test_failing_turns_that_cost_nothing_do_not_go_on_for_ever() -> None:
    """A budget never sees them; the number of attempts and of retries in the tree does."""
    model = Counted([down()], forever=True)
    switches = Settings(retry=RetryPolicy(attempts=3))
    state = run(start(), model=model, stop=MaxTokens(100), settings=switches, clock=FakeClock())
    assert (state.status, state.reason, len(model.requests)) == (
        "no_progress",
        "provider_unavailable",
        3,
    )
    assert (state.resumable, state.total_tokens) == (True, 0)
    assert state.stop is not None
    assert (state.stop.evidence["attempts"], state.stop.evidence["gave_up"]) == (3, "attempts")


def test_a_tool_is_not_cut_by_the_deadline_and_none_starts_after_it() -> None:
    clock = FakeClock(0)
    started: list[int] = []

    @tool(read_only=True)
    def slow(x: int) -> str:
        """Take a minute."""
        started.append(x)
        clock.advance(60)
        return "done"

    wanted = [("a", "slow", {"x": 1}), ("b", "slow", {"x": 2})]
    model = ScriptedModel([calls(*wanted), says("done")])
    state = run(
        start(),
        model=model,
        tools=[slow],
        stop=Deadline(60),
        clock=clock,
        settings=Settings(parallel=1),
    )
    assert (state.reason, started) == ("deadline", [1])
    assert [call.call.id for call in state.pending] == ["b"]
