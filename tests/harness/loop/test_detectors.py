"""Detectors, on states that are built rather than run: honest work is spared, loops are found.

Each property has a bound, and the docstring of the condition says the same number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakeprovider_harness import (
    ConsecutiveErrors,
    MalformedCalls,
    NoProgress,
    RepeatedCalls,
    RunState,
    Stop,
    TurnRecord,
)
from fakeprovider_harness.models.base import Usage
from fakeprovider_harness.state import CallRecord, Nudge, Reading

Made = tuple[str, str, bool]  # call, result, effect


def play(
    rounds: Sequence[Sequence[Made]], detector: Any, outcomes: Sequence[str] = ()
) -> Iterator[tuple[int, Stop | None]]:
    """What the detector says after each round; a nudge is taken note of, as the loop does."""
    state = RunState("r")
    for number, made in enumerate(rounds, 1):
        state.turns.append(TurnRecord(number, Usage(1, 1), None, "tool_calls", 1, calls=len(made)))
        outcome: Any = outcomes[number - 1] if outcomes else "ok"
        state.results += [
            CallRecord(number, "t", call, result, outcome, effect) for call, result, effect in made
        ]
        fired = detector(state)
        yield number, fired[0] if fired else None
        if detector.advice(state) is not None:
            state.nudges.append(Nudge(number, str(detector.kind)))


def stopped_at(rounds: Sequence[Sequence[Made]], detector: Any, *rest: Any) -> int | None:
    return next((number for number, stop in play(rounds, detector, *rest) if stop), None)


def same(call: str, result: str = "same") -> list[Made]:
    return [(call, result, False)]


def changing(count: int, call: str = "poll", *, effect: bool = False) -> list[list[Made]]:
    return [[(call, f"{call} {n}", effect)] for n in range(count)]


# Loops


@settings(max_examples=200, deadline=None)
@given(
    prefix=st.integers(0, 25),
    period=st.integers(1, 5),
    width=st.integers(1, 3),
    limit=st.integers(2, 4),
    nudge=st.booleans(),
)
def test_a_loop_of_period_up_to_five_is_always_stopped_within_the_bound(
    prefix: int, period: int, width: int, limit: int, nudge: bool
) -> None:
    cycle = [[(f"{p}.{k}", f"same {p}.{k}", True) for k in range(width)] for p in range(period)]
    rounds = [*changing(prefix), *(cycle * 30)]
    at = stopped_at(rounds, RepeatedCalls(limit, nudge=nudge))
    assert at == prefix + limit * period + nudge


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_work_that_goes_on_is_never_called_a_loop(data: Any) -> None:
    """Each second round at least brings a new effect or a result that its call never had."""
    rounds: list[list[Made]] = []
    for number in range(data.draw(st.integers(1, 40))):
        old = data.draw(st.lists(st.sampled_from(["a", "b", "c"]), max_size=2, unique=True))
        repeats: list[Made] = [(call, "same", False) for call in old]
        news: Made = data.draw(
            st.sampled_from(
                [("poll", f"{number} %", False), (f"edit {number}", "done", True)],
            )
        )
        idle = bool(rounds) and bool(repeats) and data.draw(st.booleans())
        was_idle = bool(rounds) and not any(made[0] not in "abc" for made in rounds[-1])
        rounds.append(repeats if idle and not was_idle else [*repeats, news])
    for _, stop in play(rounds, RepeatedCalls(3)):
        assert stop is None
    assert not advised(rounds, RepeatedCalls(3))


def advised(rounds: Sequence[Sequence[Made]], detector: Any) -> bool:
    state = RunState("r")
    for number, made in enumerate(rounds, 1):
        state.turns.append(TurnRecord(number, Usage(1, 1), None, "tool_calls", 1, calls=len(made)))
        state.results += [CallRecord(number, "t", c, r, "ok", effect) for c, r, effect in made]
        if detector.advice(state) is not None:
            return True
    return False


def test_ever_new_questions_are_no_loop_whatever_their_answers() -> None:
    assert stopped_at([same(f"read {n}") for n in range(50)], RepeatedCalls(3)) is None


def test_order_within_a_round_does_not_hide_a_loop() -> None:
    pair: list[Made] = [("a", "x", False), ("b", "y", False)]
    assert stopped_at([pair, pair[::-1]] * 5, RepeatedCalls(3, nudge=False)) == 3


def test_a_failing_call_between_new_ones_is_found_at_twice_the_limit() -> None:
    rounds = [step for n in range(20) for step in (same("test", "2 failed"), same(f"read {n}"))]
    assert stopped_at(rounds, RepeatedCalls(3, nudge=False)) == 11
    assert stopped_at(rounds, RepeatedCalls(3)) == 13


def test_a_changed_result_or_a_new_effect_starts_the_count_afresh() -> None:
    improving = [s for n in range(30) for s in (same("test", f"{n} failed"), same("sleep"))]
    assert not advised(improving, RepeatedCalls(3))
    editing = [
        step
        for n in range(30)
        for step in (same("test", "2 failed"), [(f"edit {n}", "done", True)])
    ]
    assert not advised(editing, RepeatedCalls(3))


def test_a_nudge_that_was_heeded_stops_nothing_and_is_not_given_twice() -> None:
    rounds = [*[same("a")] * 3, *changing(5, "b"), *[same("a")] * 9]
    results = list(play(rounds, RepeatedCalls(3)))
    assert [number for number, stop in results if stop] == [11, 12, 13, 14, 15, 16, 17]


def test_a_polling_tool_has_its_own_bound() -> None:
    def polled(times: int, bound: int) -> RunState:
        state = RunState("r")
        for number in range(1, times + 1):
            state.turns.append(TurnRecord(number, Usage(1, 1), None, "tool_calls", 1, calls=1))
            state.results.append(CallRecord(number, "t", "poll", "running", "ok", polls=bound))
        return state

    detector = RepeatedCalls(3, nudge=False)
    assert detector(polled(9, 10)) == ()
    (stop,) = detector(polled(10, 10))
    assert (stop.value, stop.limit) == (10, 10)
    assert detector(polled(20, 30)) == ()
    assert len(detector(polled(3, 0))) == 1


def test_a_detector_that_is_asked_often_says_the_same() -> None:
    state = RunState("r")
    for number in range(1, 4):
        state.turns.append(TurnRecord(number, Usage(1, 1), None, "tool_calls", 1, calls=1))
        state.results.append(CallRecord(number, "t", "a", "x", "ok"))
    detector = RepeatedCalls(3, nudge=False)
    assert detector(state) == detector(state) != ()


def test_nothing_is_judged_in_the_middle_of_a_round_nor_before_the_model_has_heard() -> None:
    state = RunState("r")
    for number in range(1, 4):
        state.turns.append(TurnRecord(number, Usage(1, 1), None, "tool_calls", 1, calls=1))
        state.results.append(CallRecord(number, "t", "a", "x", "ok"))
    detector = RepeatedCalls(3)
    assert detector.advice(state) is not None
    state.nudges.append(Nudge(3, "repeated_calls"))
    assert (detector(state), detector.advice(state)) == ((), None)
    state.turns.append(TurnRecord(4, Usage(1, 1), None, "tool_calls", 1, calls=1))
    assert detector(state) == ()
    state.results.append(CallRecord(4, "t", "a", "x", "ok"))
    assert len(detector(state)) == 1


@pytest.mark.parametrize("wrong", [{"limit": 1}, {"period": 0}])
def test_a_loop_of_one_round_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"is a whole number, [12] or more"):
        RepeatedCalls(**wrong)


# No progress


@settings(max_examples=150, deadline=None)
@given(
    limit=st.integers(1, 5),
    gaps=st.lists(st.integers(0, 4), min_size=1, max_size=8),
    effects=st.booleans(),
)
def test_something_new_within_the_allowed_rounds_is_progress(
    limit: int, gaps: list[int], effects: bool
) -> None:
    rounds: list[list[Made]] = [same("first")]
    for number, gap in enumerate(gaps):
        rounds += [same(f"idle {number} {n}") for n in range(min(gap, limit - 1))]
        rounds += [[(f"news {number}", "same" if effects else f"text {number}", effects)]]
    assert stopped_at(rounds, NoProgress(rounds=limit)) is None


@settings(max_examples=100, deadline=None)
@given(prefix=st.integers(0, 20), period=st.integers(1, 5), limit=st.integers(1, 5))
def test_a_loop_that_only_reads_is_stopped_after_its_first_period(
    prefix: int, period: int, limit: int
) -> None:
    cycle = [same(f"call {p}", f"text {p}") for p in range(period)]
    rounds = [*changing(prefix), *(cycle * 10)]
    assert stopped_at(rounds, NoProgress(rounds=limit)) == prefix + period + limit


def test_the_same_answer_to_ever_new_questions_is_no_progress() -> None:
    rounds = [same(f"search {n}", "no matches") for n in range(9)]
    assert stopped_at(rounds, NoProgress()) == 4


def test_the_same_answer_is_progress_where_each_call_changes_something() -> None:
    rounds: list[list[Made]] = [[(f"edit {n}", "ok", True)] for n in range(30)]
    assert stopped_at(rounds, NoProgress()) is None


def measured(values: Sequence[float | None]) -> Iterator[tuple[int, Stop | None]]:
    state = RunState("r")
    for number, value in enumerate(values, 1):
        state.turns.append(TurnRecord(number, Usage(1, 1), None, "tool_calls", 1, calls=1))
        state.results.append(CallRecord(number, "t", "a", "x", "ok"))
        if value is not None:
            state.readings.append(Reading(number, "failing", value))
        fired = NoProgress("failing", rounds=3)(state)
        yield number, fired[0] if fired else None


def end_of(values: Sequence[float | None]) -> int | None:
    return next((number for number, stop in measured(values) if stop), None)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(0, 2), max_size=12))
def test_a_measure_that_falls_within_three_readings_is_never_stopped(stays: list[int]) -> None:
    values: list[float | None] = [100]
    for number, stay in enumerate(stays, 1):
        values += [100 - number + 1 + stay] * stay + [100 - number]
    assert end_of(values) is None


@given(st.lists(st.integers(0, 9), min_size=1, max_size=9), st.integers(3, 9))
def test_three_readings_that_do_not_fall_below_the_best_end_the_run(
    rising: list[int], count: int
) -> None:
    falling: list[float | None] = [50 - n for n in range(len(rising))]
    best = 50 - (len(rising) - 1)
    stale = [best + extra for extra in [*rising, *[0] * count]][:count]
    assert end_of([*falling, *stale]) == len(falling) + 3


def test_rounds_that_report_no_number_are_not_counted() -> None:
    assert end_of([3, None, None, None, None, 2, None, 1]) is None
    assert end_of([3, None, 3, None, None, 3, None, 4]) == 8


def test_at_zero_there_is_nothing_left_to_fall() -> None:
    assert end_of([1, 0, 0, 0, 0, 0]) is None


def test_the_stop_shows_the_number_per_round_and_what_is_left() -> None:
    stop = next(stop for _, stop in measured([3, 2, 2, 2, 2]) if stop)
    assert (stop.kind, stop.value, stop.limit) == ("no_progress", 3, 3)
    assert stop.evidence == {
        "measure": "failing",
        "per_round": [[1, 3], [2, 2], [3, 2], [4, 2], [5, 2]],
        "left": 2,
    }


def test_a_round_must_be_given_a_chance() -> None:
    with pytest.raises(ValueError, match="rounds is a whole number, 1 or more"):
        NoProgress(rounds=0)


# Streaks


@settings(max_examples=100, deadline=None)
@given(
    outcomes=st.lists(st.sampled_from(["ok", "error", "timeout", "invalid_args", "denied"])),
    limit=st.integers(1, 5),
)
def test_streaks_stop_exactly_at_the_limit_and_any_other_round_breaks_them(
    outcomes: list[str], limit: int
) -> None:
    for detector, counted in (
        (MalformedCalls(limit), {"invalid_args"}),
        (ConsecutiveErrors(limit), {"error", "timeout", "invalid_args"}),
    ):
        streak, expected = 0, None
        for number, outcome in enumerate(outcomes, 1):
            streak = streak + 1 if outcome in counted else 0
            if streak == limit and expected is None:
                expected = number
        rounds = [same(f"{n}") for n in range(len(outcomes))]
        assert stopped_at(rounds, detector, outcomes) == expected


def test_one_good_call_in_a_round_is_a_good_round() -> None:
    state = RunState("r")
    for number in range(1, 9):
        state.turns.append(TurnRecord(number, Usage(1, 1), None, "tool_calls", 1, calls=2))
        state.results.append(CallRecord(number, "t", "a", "x", "error"))
        state.results.append(CallRecord(number, "t", "b", "y", "ok"))
    assert ConsecutiveErrors(2)(state) == MalformedCalls(1)(state) == ()
