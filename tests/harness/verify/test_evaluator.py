"""An evaluator is a model of its own: bounded prompt, own price, every answer accounted for."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import pytest

from fakeprovider_harness import (
    FakeClock,
    MaxCost,
    MaxTokens,
    Price,
    RetryPolicy,
    RunState,
    Settings,
    run,
)
from fakeprovider_harness.models.base import Attempt, Message, ModelError, ModelReply, Usage
from fakeprovider_harness.models.scripted import ScriptedModel, says
from fakeprovider_harness.verify import Evaluator

SMALL = Price("0.10", "0.40")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"verdict": "met", "reason": "tests pass"}', "met"),
        ('Sure:\n```json\n{"verdict": "not_met", "reason": "no"}\n```', "not_met"),
        ('{"verdict": "impossible"}', "impossible"),
        ("met", "junk"),
        ("", "junk"),
        ('{"verdict": "yes"}', "junk"),
        ('{"verdict": ["met"]}', "junk"),
        ("[1]", "junk"),
        ('{"a":' * 9999 + "1" + "}" * 9999, "junk"),
    ],
)
def test_only_a_verdict_in_the_asked_form_counts(text: str, kind: str) -> None:
    model = ScriptedModel([says(text)])
    assert asyncio.run(Evaluator(model, "g").judge([])).kind == kind


def test_the_prompt_is_the_goal_and_the_bounded_end_of_the_transcript() -> None:
    model = ScriptedModel([says('{"verdict": "met", "reason": "r"}')])
    evaluator = Evaluator(model, "tests pass", messages=3, characters=50)
    history = [Message("user", f"entry {n} " + "x" * 999) for n in range(99)]
    opinion = asyncio.run(evaluator.judge(history))
    system, asked = model.requests[0]
    assert (opinion.kind, system.role) == ("met", "system")
    lines = (asked.content or "").splitlines()
    assert lines[0] == "Goal: tests pass"
    assert [line[:15] for line in lines[3:]] == [f"[user] entry {n}" for n in (96, 97, 98)]
    assert all(len(line) <= 50 for line in lines)


@pytest.mark.parametrize(
    ("reply", "status", "reason"),
    [
        ("met", "completed", "verified"),
        ("impossible", "failed", "goal_unreachable"),
        ("not_met", "unverified", "verification_failed"),
    ],
)
def test_as_a_verifier_its_word_decides_and_its_tokens_are_charged_at_its_own_price(
    reply: str, status: str, reason: str
) -> None:
    judge = ScriptedModel([says(f'{{"verdict": "{reply}", "reason": "because"}}')], forever=True)
    model = ScriptedModel([says("done")], forever=True)
    state = run(
        RunState.start("task"),
        model=model,
        stop=MaxCost("1"),
        price=Price("1", "10"),
        verify=Evaluator(judge, "the goal", price=SMALL),
    )
    assert (state.status, state.reason) == (status, reason)
    rounds = len(model.requests)
    assert len(judge.requests) == rounds
    assert state.cost_usd == rounds * (Decimal("0.002") + SMALL.cost(Usage(1000, 100)))
    assert state.input_tokens == rounds * 2000


def test_junk_is_an_error_of_the_check_and_costs_what_it_costs() -> None:
    judge = ScriptedModel([says("well...")], forever=True)
    state = run(
        RunState.start("task"),
        model=ScriptedModel([says("done")]),
        stop=None,
        price=Price("1", "10"),
        verify=Evaluator(judge, "the goal", price=SMALL),
    )
    assert (state.reason, len(judge.requests)) == ("verifier_error", 2)
    assert state.cost_usd == Decimal("0.002") + 2 * SMALL.cost(Usage(1000, 100))


def test_under_a_budget_an_evaluator_without_a_price_ends_the_run_as_unknown() -> None:
    judge = ScriptedModel([says('{"verdict": "not_met", "reason": "r"}')], forever=True)
    state = run(
        RunState.start("task"),
        model=ScriptedModel([says("done")], forever=True),
        stop=MaxCost("1"),
        price=Price("1", "10"),
        verify=Evaluator(judge, "the goal"),
    )
    assert (state.reason, state.unpriced) == ("usage_unknown", 1)


def failing(error: ModelError) -> Any:
    return asyncio.run(Evaluator(ScriptedModel([error]), "g", price=SMALL).judge([]))


def test_a_request_that_failed_is_charged_as_far_as_it_may_have_been() -> None:
    refused = failing(ModelError("500", status=500))
    assert (refused.kind, refused.spent) == ("error", ())
    broke = ModelError("reset", partial=ModelReply("me"), attempts=(Attempt("reset"),))
    opinion = failing(broke)
    (spent,) = opinion.spent
    assert (opinion.kind, spent.usage.estimated) == ("error", True)
    assert spent.cost_usd is not None
    assert spent.cost_usd > 0


def test_a_reserved_budget_without_room_for_the_check_ends_the_run_before_it() -> None:
    judge = ScriptedModel([says('{"verdict": "met", "reason": "r"}')])
    state = RunState.start("task")
    model = ScriptedModel([says("done")])
    settings = Settings(max_output=100)
    given: dict[str, Any] = {"model": model, "price": Price("1", "10"), "settings": settings}
    verify = Evaluator(judge, "the goal", price=Price("1000", "1000"))
    run(state, stop=MaxCost("0.1", reserve=True), verify=verify, **given)
    assert (state.status, state.reason) == ("budget_exceeded", "max_cost")
    assert (judge.requests, state.checks, state.cost_usd <= Decimal("0.1")) == ([], [], True)
    run(state, stop=MaxCost("9", reserve=True), verify=verify, **given)
    assert (state.reason, len(judge.requests), len(model.requests)) == ("verified", 1, 1)


def test_each_try_of_a_check_must_fit_into_a_reserved_budget() -> None:
    """A stream that broke has been charged, so the next try may have no room any more."""
    broke = ModelError("reset", retryable=True, partial=ModelReply(usage=Usage(20_000, 0)))
    judge = ScriptedModel([broke] * 3)
    state = run(
        RunState.start("task"),
        model=ScriptedModel([says("done")]),
        stop=MaxTokens(21_300, reserve=True),
        verify=Evaluator(judge, "the goal"),
        settings=Settings(max_output=100, retry=RetryPolicy(), verifier_retries=0),
        clock=FakeClock(),
    )
    assert (state.status, state.reason) == ("budget_exceeded", "max_tokens")
    assert (len(judge.requests), state.total_tokens) == (1, 1_100 + 20_000)
