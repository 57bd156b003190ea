"""The fixtures of the loop's tests, and the invariants that every run must keep."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal

import pytest
from effects_ledger import Ledger

import fakeprovider_harness.loop
from fakeprovider_harness import ListTrace, Price, RunState
from fakeprovider_harness.engine.run_context import RunContext
from fakeprovider_harness.models.scripted import ScriptedModel, problems
from fakeprovider_harness.trace import RunStopped, no_trace

PRICE = Price("1", "10")


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


@pytest.fixture
def price() -> Price:
    return PRICE


def invariants(
    state: RunState, model: ScriptedModel, trace: ListTrace, price: Price = PRICE
) -> None:
    """Pairing, bills and the stop event of a run that `model` alone answered, in one process."""
    waiting = [call.call.id for call in state.pending]
    found = problems(state.messages)
    expected = [f"the last calls have no result: {', '.join(waiting)}"] if waiting else []
    assert found == expected
    assert state.input_tokens >= sum(usage.prompt_tokens for usage in model.charged)
    reported = sum((price.cost(usage) for usage in model.charged), Decimal(0))
    assert state.estimated or state.cost_usd == reported
    assert state.cost_usd >= reported
    stopped = [event for event in trace.events if isinstance(event, RunStopped)]
    assert len(stopped) == state.legs
    assert all(event.run_id == state.run_id and event.reason for event in stopped)


@pytest.fixture(scope="session")
def new_ledger() -> type[Ledger]:
    """For tests that Hypothesis calls many times."""
    return Ledger


@pytest.fixture(scope="session")
def check() -> Callable[..., None]:
    return invariants


@pytest.fixture(scope="module", autouse=True)
def every_leg_keeps_the_invariants() -> Iterator[None]:
    """Pairing, bills and the stop event hold after every stop of every run in these tests.

    What is sent is checked by the scripted model, which refuses what a service would.
    """
    go = fakeprovider_harness.loop._go

    async def watched(run: RunContext) -> None:
        trace, legs, books = ListTrace(), run.state.legs, Books(run)
        onward = run.journal.trace or no_trace
        run.journal.trace = lambda event: (trace(event), onward(event))[1]
        await go(run)
        assert_sound(run.state)
        stops = [
            event
            for event in trace.events
            if isinstance(event, RunStopped) and event.run_id == run.state.run_id
        ]
        assert len(stops) == run.state.legs - legs == 1
        assert stops[0].reason == run.state.reason
        books.balance()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fakeprovider_harness.loop, "_go", watched)
        yield


def assert_sound(state: RunState) -> None:
    """Each call has one result, in call order, or is still pending."""
    waiting = [call.call.id for call in state.pending]
    expected = [f"the last calls have no result: {', '.join(waiting)}"] if waiting else []
    assert problems(state.messages) == expected


class Books:
    """What a root run's scripted model charges in a run, against what the run says."""

    def __init__(self, run: RunContext) -> None:
        self.run = run
        self.known = isinstance(run.model, ScriptedModel) and run.account.parent is None
        self.begun = len(run.model.charged) if self.known else 0
        self.before = run.state.input_tokens, run.state.output_tokens

    def balance(self) -> None:
        if not self.known:
            return
        state, charged = self.run.state, self.run.model.charged[self.begun :]
        spent_in = state.input_tokens - self.before[0]
        spent_out = state.output_tokens - self.before[1]
        assert spent_in >= sum(usage.prompt_tokens for usage in charged)
        assert spent_out >= sum(usage.completion_tokens for usage in charged)
