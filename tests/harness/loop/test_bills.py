"""Public reports about bills over pauses and caches, and about silence, over a real socket."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from effects_ledger import Ledger

from fakeprovider.server import Server
from fakeprovider_harness import (
    ActiveTime,
    FakeClock,
    ListTrace,
    MaxCost,
    MaxTurns,
    Price,
    PriceTable,
    RetryPolicy,
    RunState,
    Settings,
    StaleRun,
    Status,
    Store,
    UnknownPrice,
    approve,
    run,
)
from fakeprovider_harness.models import ChatModel, Timeouts
from fakeprovider_harness.models.base import ModelReply, Usage
from fakeprovider_harness.models.scripted import ScriptedModel, calls, says
from fakeprovider_harness.trace import RequestRetried, RunStopped

CAP = MaxTurns(20)


def start() -> RunState:
    return RunState.start("task", run_id="r")


def four_requests(clock: FakeClock) -> ScriptedModel:
    script = [
        calls(("a", "read", {"x": 1})),
        calls(("b", "read", {"x": 2})),
        calls(("c", "write", {"x": 3})),
        says("done"),
    ]

    def reply(n: int, _: Any) -> ModelReply:
        clock.advance(17 if n < 3 else 8)
        return script[n]

    return ScriptedModel(reply)


def test_a_pause_loses_no_usage_and_counts_none_twice(
    ledger: Ledger, price: Price, check: Callable[..., None]
) -> None:
    clock, trace = FakeClock(), ListTrace()
    model, tools = four_requests(clock), [ledger.read, ledger.write(needs_approval=True)]
    more: dict[str, Any] = {
        "model": model, "tools": tools, "price": price, "trace": trace, "clock": clock,
        "stop": CAP | ActiveTime(60),
    }  # fmt: skip
    state = run(start(), **more)
    assert (state.reason, state.total_tokens, state.times.active) == ("approval", 3_300, 51)
    clock.advance(100_000)
    state = run(RunState.from_json(approve(state, "c").to_json()), **more)
    assert (state.status, state.total_tokens, len(model.requests)) == (Status.COMPLETED, 4_400, 4)
    assert state.times.active == 59
    legs = [event for event in trace.events if isinstance(event, RunStopped)]
    assert [(e.leg, e.turns, e.leg_turns) for e in legs] == [(1, 3, 3), (2, 4, 1)]
    assert [e.cost_usd for e in legs] == [Decimal("0.006"), Decimal("0.008")]
    assert sum(e.leg_cost_usd or 0 for e in legs) == state.cost_usd == Decimal("0.008")
    check(state, model, trace)


def test_the_time_used_before_the_pause_still_counts(ledger: Ledger) -> None:
    for limit, reason, requests in ((52, "answered", 4), (51, "active_time", 3)):
        clock, done = FakeClock(), len(ledger.done)
        model, tools = four_requests(clock), [ledger.read, ledger.write(needs_approval=True)]
        more: dict[str, Any] = {"model": model, "tools": tools, "clock": clock}
        state = run(start(), stop=ActiveTime(limit), **more)
        clock.advance(3_600)
        state = run(approve(state, "c"), stop=ActiveTime(limit), **more)
        assert (state.reason, len(model.requests)) == (reason, requests)
        assert len(ledger.done) == done + (reason == "answered")


def test_of_two_resumes_one_wins_and_the_other_changes_nothing(
    ledger: Ledger, tmp_path: Path
) -> None:
    clock = FakeClock()
    model, tools = four_requests(clock), [ledger.read, ledger.write(needs_approval=True)]
    with Store(tmp_path / "runs.db") as store:
        more: dict[str, Any] = {"model": model, "tools": tools, "stop": CAP, "store": store}
        run(start(), **more)
        one, two = store.load("r"), store.load("r")
        run(approve(one, "c"), **more)
        with pytest.raises(StaleRun):
            run(approve(two, "c"), **more)
        assert (len(model.requests), ledger.done) == (4, [3])
        assert store.load("r").total_tokens == 4_400


def test_the_price_of_cached_tokens_is_exact_and_the_context_is_the_whole_prompt() -> None:
    price = Price("10", "30", cached="1", cache_write="12.5")
    model = ScriptedModel([says("ok", usage=Usage(100_000, 1_000, cached_tokens=80_000))])
    state = run(start(), model=model, stop=MaxCost("1"), price=price)
    assert (state.cost_usd, state.turns[0].usage.prompt_tokens) == (Decimal("0.31"), 100_000)


def test_an_unknown_model_under_a_budget_is_refused_and_without_one_unpriced() -> None:
    model = ScriptedModel([says("ok")], name="unknown")
    table = PriceTable({"known": Price("1", "1")})
    with pytest.raises(UnknownPrice):
        run(start(), model=model, stop=MaxCost("1"), price=table)
    state = run(start(), model=model, stop=CAP, price=table)
    assert (state.status, state.unpriced) == (Status.COMPLETED, 1)


@pytest.fixture(scope="module")
def warm(server: Server) -> Server:
    """A provider that has loaded all it needs before anything is timed."""
    model = ChatModel(server.url_for("plan;turn_offset=2", run="warm"), "m", stream=True)
    assert run(start(), model=model, stop=CAP).status is Status.COMPLETED
    return server


QUICK = Timeouts(first=1.0, stall=0.3)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("stall,after=2,seconds=60", "the stream was silent for 0.3 s"),
        ("hang_after_headers,seconds=60", "no first event within 1.0 s"),
        ("hang_before_headers,seconds=60", "no first event within 1.0 s"),
        ("stall,after=2,seconds=60,ping=0.1", "the stream was silent for 0.3 s"),
    ],
)
def test_silence_is_an_error_that_is_retried_and_charged(
    warm: Server, fault: str, said: str
) -> None:
    """Comments are no sign of life: they show that a proxy is alive, not that a model writes."""
    key = f"b18-{fault.replace(',', '-').replace('=', '-')}"
    url = warm.url_for(f"plan;turn_offset=2;fault={fault},times=1", run=key)
    model, trace, price = ChatModel(url, "m", stream=True, timeouts=QUICK), ListTrace(), Price(1, 1)
    settings = Settings(retry=RetryPolicy(base=0.01, charged=5))  # a busy machine is slow too
    state = run(start(), model=model, stop=CAP, settings=settings, trace=trace, price=price)
    assert state.status is Status.COMPLETED
    retried = [event for event in trace.events if isinstance(event, RequestRetried)]
    assert said in retried[0].message
    assert len(state.lost) == len(retried) == len(warm.journal.exchanges(key)) - 1
    assert all(lost.usage.estimated for lost in state.lost)
    assert state.lost[0].cost_usd == price.cost(state.lost[0].usage)


def test_without_retries_it_is_a_stop_that_says_so_and_can_be_resumed(warm: Server) -> None:
    url = warm.url_for("plan;turn_offset=2;fault=stall,after=2,times=1", run="b18-once")
    model = ChatModel(url, "m", stream=True, timeouts=QUICK)
    state = run(start(), model=model, stop=CAP)
    assert (state.status, state.reason) == ("no_progress", "provider_unavailable")
    assert "silent" in str(state.stop)
    assert run(state, model=model, stop=CAP).status is Status.COMPLETED


def test_slow_but_steady_is_no_silence(warm: Server) -> None:
    url = warm.url_for("plan;turn_offset=2;tps=20", run="b18-slow")
    model = ChatModel(url, "m", stream=True, timeouts=Timeouts(first=5, stall=2))
    assert run(start(), model=model, stop=CAP).status is Status.COMPLETED


def test_the_whole_reply_may_take_so_long_and_no_longer(warm: Server) -> None:
    url = warm.url_for("plan;turn_offset=2;tps=2", run="total")
    model = ChatModel(url, "m", stream=True, timeouts=Timeouts(total=0.3))
    state = run(start(), model=model, stop=CAP)
    assert state.reason == "provider_unavailable"
    assert "no whole reply within 0.3 s" in str(state.stop)
