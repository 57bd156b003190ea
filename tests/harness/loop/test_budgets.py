"""Budgets kept exactly: reserved before a request, settled after, by whatever runs of a tree."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from effects_ledger import Ledger

from fakeprovider_harness import (
    Condition,
    ListTrace,
    MaxCost,
    MaxInputTokens,
    MaxOutputTokens,
    MaxTokens,
    MaxTurns,
    Price,
    RunState,
    Settings,
    Stop,
    Tool,
    arun,
    run,
    subagent,
)
from fakeprovider_harness.budget.budget_tree import Account, Branch, Grant
from fakeprovider_harness.models.base import ModelError, ModelReply, Usage
from fakeprovider_harness.models.scripted import ScriptedModel, calls, says

DEAR = Price("0", "10")  # output only: 30,000 tokens cost $0.30


LARGE = Settings(max_output=30_000)


def start() -> RunState:
    return RunState.start("task", run_id="r")


def dear(n: int = 0) -> ModelReply:
    return calls((f"c{n}", "read", {"x": n}), usage=Usage(0, 30_000))


def forever() -> ScriptedModel:
    return ScriptedModel(lambda n, _: dear(n))


def test_the_call_that_would_pass_the_cap_is_not_sent(
    ledger: Ledger, check: Callable[..., None]
) -> None:
    trace, model = ListTrace(), forever()
    stop = MaxCost("1.00", reserve=True, least=30_000)
    state = run(
        start(), model=model, tools=[ledger.read], stop=stop, price=DEAR, settings=LARGE,
        trace=trace,
    )  # fmt: skip
    assert (state.cost_usd, len(model.requests)) == (Decimal("0.9"), 3)
    assert (state.status, state.reason) == ("budget_exceeded", "max_cost")
    assert state.stop is not None
    assert (state.stop.value, state.stop.overshoot) == (Decimal("0.9"), 0)
    assert Decimal(state.stop.evidence["needed"]) == Decimal("0.3")
    assert re.match(
        r"max_cost \(0\.90* of 1\.00\): the next turn could cost up to \$0\.30*, \$0\.10* left",
        str(state.stop),
    )
    assert RunState.from_json(state.to_json()) == state, "a stop is the same once it was stored"
    check(state, model, trace, DEAR)


def test_checked_after_the_call_it_is_overshot_by_one_call(ledger: Ledger) -> None:
    state = run(
        start(), model=forever(), tools=[ledger.read], stop=MaxCost("1.00"), price=DEAR,
        settings=LARGE,
    )  # fmt: skip
    assert state.stop is not None
    assert (state.cost_usd, state.stop.overshoot) == (Decimal("1.2"), Decimal("0.2"))


def test_a_cap_below_one_call_sends_nothing(ledger: Ledger) -> None:
    model = forever()
    stop = MaxCost("0.20", reserve=True, least=30_000)
    state = run(start(), model=model, tools=[ledger.read], stop=stop, price=DEAR, settings=LARGE)
    assert (model.requests, state.cost_usd, state.reason) == ([], 0, "max_cost")


@pytest.mark.parametrize(("reserve", "cost"), [(True, "0.9"), (False, "1.2")])
def test_of_five_parallel_sub_tasks_none_is_admitted_where_there_is_room_for_none(
    ledger: Ledger, reserve: bool, cost: str
) -> None:
    """Unreserved, each of the five would pass; the limit above them stops all after the first."""
    child = ScriptedModel(lambda n, _: says("done", usage=Usage(0, 30_000)), name="child")
    tasks = [(f"t{n}", "research", {"question": "?"}) for n in range(5)]
    script = [dear(0), dear(1), calls(*tasks, usage=Usage(0, 30_000)), says("no room")]
    state = run(
        start(),
        model=ScriptedModel(script),
        tools=[ledger.read, _agent(child)],
        stop=MaxCost("1.00", reserve=reserve, least=30_000),
        price=DEAR,
        settings=LARGE,
    )
    spent = state.cost_usd
    if reserve:
        assert (spent, child.requests) == (Decimal(cost), [])
        outcomes = [m.outcome for m in state.messages if m.name == "research"]
        assert outcomes == ["error"] * 5
    else:
        assert spent >= Decimal(cost)
        assert len(child.requests) == 5


FIVE = MaxTurns(5)


def _agent(model: Any, stop: Condition = FIVE, **given: Any) -> Tool:
    given = {"tools": [], "settings": LARGE, **given}
    return subagent("research", "Ask an agent.", model=model, stop=stop, **given)


def test_what_was_held_for_a_request_that_failed_is_free_again(ledger: Ledger) -> None:
    script: list[Any] = [dear(0), ModelError("500: no", status=500, retryable=True)]
    model = ScriptedModel([*script, dear(1), dear(2), dear(3)])
    stop = MaxCost("1.00", reserve=True, least=30_000)
    state = start()
    for reason in ("provider_unavailable", "max_cost"):
        run(state, model=model, tools=[ledger.read], stop=stop, price=DEAR, settings=LARGE)
        assert state.reason == reason
    assert (state.cost_usd, len(model.charged)) == (Decimal("0.9"), 3)


def test_what_was_held_for_a_request_that_was_cancelled_is_free_again() -> None:
    account = _account(MaxTokens(1_000, reserve=True))

    async def cancelled() -> None:
        asking = asyncio.ensure_future(
            arun(start(), model=Hanging(account), stop=MaxTokens(1_000, reserve=True))
        )
        await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    asyncio.run(cancelled())


class Hanging:
    """A model that never answers."""

    name = "hanging"

    def __init__(self, account: Account) -> None:
        self.account = account

    async def ask(self, messages: Any, tools: Any, **_: Any) -> ModelReply:
        await asyncio.Event().wait()
        raise AssertionError

    async def aclose(self) -> None:
        return None


def _account(
    condition: Condition,
    *,
    state: RunState | None = None,
    branch: Branch | None = None,
    **switches: Any,
) -> Account:
    state = state or RunState("r")
    return Account(state, condition, Settings(**switches), lambda: None, branch)


def _ask(account: Account, prompt: int, output: int) -> Grant | Stop:
    return account.admit(prompt, output, 4096, None)


def _use(account: Account, grant: Grant | Stop, prompt: int, output: int) -> None:
    assert isinstance(grant, Grant)
    account.state.charge(Usage(prompt, output), None)
    account.charged()
    account.release(grant)


def test_the_third_call_would_reach_sixty_of_fifty_and_is_refused() -> None:
    account = _account(MaxTokens(50, reserve=True, least=10))
    for _ in range(2):
        _use(account, _ask(account, 10, 10), 10, 10)
    refused = _ask(account, 10, 10)
    assert isinstance(refused, Stop)
    assert (refused.kind, refused.value, refused.limit, refused.overshoot) == (
        "max_tokens",
        40,
        50,
        0,
    )
    words = "the next turn could cost up to 20 tokens, 10 tokens left"
    assert refused.evidence == {"error": words, "needed": 20, "held": 0, "run": "r"}


def test_checked_after_the_call_the_overshoot_is_one_call_and_reported(ledger: Ledger) -> None:
    model = ScriptedModel(lambda n, _: calls((f"c{n}", "read", {}), usage=Usage(10, 10)))
    state = run(start(), model=model, tools=[ledger.read], stop=MaxTokens(50))
    assert state.stop is not None
    assert (state.total_tokens, state.stop.overshoot) == (60, 10)


def test_output_is_lowered_to_what_is_left() -> None:
    account = _account(MaxTokens(55, reserve=True, least=5))
    for _ in range(2):
        _use(account, _ask(account, 10, 10), 10, 10)
    grant = _ask(account, 10, 10)
    assert isinstance(grant, Grant)
    assert (grant.max_output, grant.need.output) == (5, 5)


def test_the_request_carries_the_lowered_output(ledger: Ledger) -> None:
    asked: list[int | None] = []

    class Listening(ScriptedModel):
        async def ask(self, *given: Any, max_output: int | None = None, **more: Any) -> ModelReply:
            asked.append(max_output)
            return await super().ask(*given, max_output=max_output, **more)

    model = Listening(lambda n, _: calls((f"c{n}", "read", {}), usage=Usage(200, 100)))
    state = run(
        start(),
        model=model,
        tools=[ledger.read],
        stop=MaxTokens(5_000, reserve=True),
        settings=Settings(max_output=1_000),
    )
    assert state.total_tokens <= 5_000
    assert asked[0] == 1_000
    assert asked == sorted(asked, key=lambda n: -(n or 0))
    assert 64 <= (asked[-1] or 0) < 1_000


def test_two_parallel_children_hold_what_they_may_use() -> None:
    parent = _account(MaxTokens(100, reserve=True, least=10), max_depth=1)
    branch = Branch(parent, (), lambda state: None)
    one, two = (_account(MaxTurns(9), state=RunState(f"c{n}"), branch=branch) for n in range(2))
    assert isinstance(_ask(one, 30, 30), Grant)
    second = _ask(two, 30, 30)
    assert isinstance(second, Grant)
    assert second.max_output == 10
    assert isinstance(_ask(two, 1, 10), Stop)


@pytest.mark.parametrize(
    ("budget", "prompt", "output", "allowed"),
    [
        (MaxTokens(100, reserve=True, least=1), 40, 100, 60),
        (MaxTokens(100, reserve=True), 40, 100, None),
        (MaxInputTokens(100, reserve=True), 40, 100, 100),
        (MaxInputTokens(100, reserve=True), 101, 100, None),
        (MaxOutputTokens(100, reserve=True), 999, 200, 100),
        (MaxCost("0.001", reserve=True), 100, 100, 90),
        (MaxCost("0.001", reserve=True), 1_001, 100, None),
        (MaxTokens(None, reserve=True), 10**9, 100, 100),
        (MaxTokens(1), 10**9, 100, 100),
        (MaxTurns(0, scope="tree"), 1, 100, None),
        (MaxTurns(1, scope="tree"), 1, 100, 100),
        (MaxTurns(0), 1, 100, 100),
    ],
)
def test_what_each_budget_leaves_for_the_output(
    budget: Condition, prompt: int, output: int, allowed: int | None
) -> None:
    price = Price("1", "10", cache_write="0")
    grant = _account(budget).admit(prompt, output, 4096, price)
    assert (grant.max_output if isinstance(grant, Grant) else None) == allowed


@pytest.mark.parametrize("write", ["1.25", "2", None])
def test_a_prompt_is_reserved_at_the_rate_of_a_cache_write_where_that_is_dearer_or_unknown(
    write: str | None,
) -> None:
    price = Price("1", "10", cache_write=write)
    grant = _account(MaxCost("1", reserve=True)).admit(1_000, 100, 4096, price)
    assert isinstance(grant, Grant)
    assert grant.need.cost == price.cost(Usage(1_000, 100, cache_write_tokens=1_000))


def test_without_a_number_of_its_own_a_request_asks_for_the_assumed_output() -> None:
    plain = _account(MaxTokens(10**6)).admit(10, None, 4096, None)
    assert isinstance(plain, Grant)
    assert (plain.max_output, plain.need.output) == (None, 4096)
    reserved = _account(MaxTokens(10**6, reserve=True)).admit(10, None, 4096, None)
    assert isinstance(reserved, Grant)
    assert reserved.max_output == 4096
