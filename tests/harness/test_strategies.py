"""Strategies of the harness: conditions that print as they are written, runs in every state."""

from __future__ import annotations

from collections import Counter

from hypothesis import find, given, settings

from fakeprovider_harness import MaxTurns, RunState, Settings, Status, parse_stop, run
from fakeprovider_harness.models.base import Message
from fakeprovider_harness.models.retry import RetryPolicy
from fakeprovider_harness.models.scripted import ScriptedModel, problems, says
from fakeprovider_harness.stop import Condition
from fakeprovider_harness.strategies import (
    hard_limits,
    policies,
    retry_policies,
    run_states,
    stop_conditions,
    tools,
)

FEW = settings(max_examples=60, database=None)


@FEW
@given(stop_conditions())
def test_conditions_print_as_they_are_written(condition: Condition) -> None:
    assert parse_stop(repr(condition)) == condition


@FEW
@given(run_states(), stop_conditions())
def test_any_condition_judges_any_run(state: RunState, condition: Condition) -> None:
    fired = condition(state)
    assert all(stop.kind for stop in fired)
    assert condition(state) == fired  # and changes nothing


@FEW
@given(run_states())
def test_runs_have_ended_are_storable_and_have_a_sound_transcript(state: RunState) -> None:
    assert state.status is not Status.RUNNING
    assert state.stop is not None
    assert RunState.from_json(state.to_json()) == state
    if not state.pending:
        assert problems([*state.messages, Message("user", "more")]) == []


def test_runs_reach_many_ways_out() -> None:
    seen: Counter[Status] = Counter()

    @settings(max_examples=200, database=None, derandomize=True)
    @given(run_states())
    def collect(state: RunState) -> None:
        seen[state.status] += 1

    collect()
    wanted = {
        Status.COMPLETED,
        Status.MAX_TURNS_EXCEEDED,
        Status.BUDGET_EXCEEDED,
        Status.INTERRUPTED,
        Status.FAILED,
    }
    assert wanted <= set(seen)


@FEW
@given(hard_limits())
def test_a_hard_limit_ends_every_run(condition: Condition) -> None:
    from fakeprovider_harness.strategies import PRICE

    model = ScriptedModel([says("", finish="length")], forever=True)
    # Without the detectors that are always on, nothing else would end it.
    free = Settings(truncated_replies=None, empty_replies=None)
    state = run(RunState.start("x"), model=model, stop=condition, price=PRICE, settings=free)
    assert state.status in (Status.MAX_TURNS_EXCEEDED, Status.BUDGET_EXCEEDED)
    assert len(model.requests) <= 6 + 1


@FEW
@given(policies(), retry_policies())
def test_policies_are_ones_the_loop_takes(given_settings: Settings, retry: RetryPolicy) -> None:
    model = ScriptedModel([says("done")])
    state = run(
        RunState.start("x"), model=model, tools=tools(), stop=MaxTurns(3), settings=given_settings
    )
    assert state.status is Status.COMPLETED
    assert retry.cap >= retry.base


def test_a_condition_shrinks_to_a_short_one() -> None:
    smallest = find(
        stop_conditions(),
        lambda condition: "MaxCost" in repr(condition),
        settings=settings(max_examples=500, database=None),
    )
    assert repr(smallest) == "MaxCost('0')"
