"""A ledger of effects, the classic tools over it, and the invariants every run must keep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pytest

from harness import ListTrace, Price, RunState, Tool, tool
from harness.scripted import ScriptedModel, problems
from harness.trace import RunStopped

PRICE = Price("1", "10")


@dataclass
class Ledger:
    """What the tools really did."""

    done: list[Any] = field(default_factory=list)

    def write(self, **declared: Any) -> Tool:
        @tool(name="write", **declared)
        def write(x: int) -> str:
            """Append a number to the ledger."""
            self.done.append(x)
            return f"wrote {x}"

        return write

    @property
    def read(self) -> Tool:
        @tool(read_only=True)
        def read(x: int = 0) -> str:
            """Read."""
            return "v"

        return read


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


@pytest.fixture
def price() -> Price:
    return PRICE


def invariants(
    state: RunState, model: ScriptedModel, trace: ListTrace, price: Price = PRICE
) -> None:
    """I1, I2, I4 and I5 of a run that `model` alone has answered, in one process."""
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
