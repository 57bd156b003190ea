"""Loop: a prompt at an interval or at the model's own pace, in one conversation, between runs."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from fakeprovider_harness import (
    Cancel,
    Deadline,
    FakeClock,
    MaxCost,
    MaxTokens,
    MaxTurns,
    Price,
    RunState,
    tool,
)
from fakeprovider_harness.conditions import ContextWindow
from fakeprovider_harness.models.base import ModelError
from fakeprovider_harness.models.scripted import ScriptedModel, calls, problems, says
from fakeprovider_harness.outer import (
    Caps,
    OuterKind,
    OuterReport,
    Schedule,
    Setup,
    TooManyTasks,
    loop,
    loop_prompt,
    parse_interval,
)
from fakeprovider_harness.outer.interval_loop import in_words
from fakeprovider_harness.outer.setup import MAINTENANCE, from_here

Make = Callable[..., Setup]
MINUTE, DAY = 60, 86_400


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 60), ("90s", 90), ("5m", 300), ("2h", 7_200), ("1d", DAY), (" 10 M ", 600)],
)
def test_an_interval_is_written_as_people_write_it(text: str, seconds: float) -> None:
    assert parse_interval(text)[0] == seconds


def test_below_a_minute_is_rounded_up_and_said() -> None:
    assert parse_interval("30s") == (60, "30s is below a minute: it is rounded up to 1m")
    assert parse_interval("60s") == (60, "")


@pytest.mark.parametrize("text", ["", "0m", "5", "m5", "-5m", "1.5h", "5 weeks", "every 5m"])
def test_anything_else_is_no_interval(text: str) -> None:
    with pytest.raises(ValueError, match="write it as 30s, 5m, 2h or 1d"):
        parse_interval(text)


def test_fifty_tasks_are_the_most_and_a_later_process_finds_them(tmp_path: Path) -> None:
    schedule = Schedule(tmp_path / "loops" / "tasks.json")
    for _ in range(50):
        schedule.add("look", 0.0, 300)
    with pytest.raises(TooManyTasks, match="50 tasks are scheduled"):
        schedule.add("look", 0.0)
    schedule.remove(schedule.tasks[7])
    schedule.add("again", 0.0)
    again = Schedule(tmp_path / "loops" / "tasks.json")
    assert again.tasks == schedule.tasks
    assert len({task.id for task in again.tasks}) == 50


def test_the_prompt_is_the_project_s_then_the_user_s_then_the_built_in_one(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    (home / ".config" / "harness").mkdir(parents=True)
    project.mkdir()
    environment = {"HOME": str(home)}
    assert loop_prompt(project, environment) == (MAINTENANCE, "built in")
    assert all(word in MAINTENANCE for word in ("unfinished", "pull request", "clean up"))
    (home / ".config" / "harness" / "loop.md").write_text("the user's\n")
    assert loop_prompt(project, environment)[0] == "the user's"
    (project / "loop.md").write_text("the project's\n")
    assert loop_prompt(project, environment) == ("the project's", str(project / "loop.md"))
    (project / "loop.md").write_text(" \n")
    assert loop_prompt(project, environment)[0] == "the user's"


def start() -> RunState:
    return RunState(run_id="talk")


def go(state: RunState, schedule: Schedule, setup: Setup, caps: Caps | None = None) -> OuterReport:
    return asyncio.run(loop(state, schedule, setup, caps or Caps(iterations=10)))


def scheduled(setup: Setup, prompt: str = "look", every: float | None = 300) -> Schedule:
    schedule = Schedule()
    schedule.add(prompt, setup.clock.time(), every)
    return schedule


def test_an_interval_fires_at_once_and_then_each_time_in_the_same_conversation(
    setup: Make, price: Price
) -> None:
    model, state = ScriptedModel([says("all well")], forever=True), start()
    made = setup(model)
    report = go(state, scheduled(made), made, Caps(iterations=4))
    assert report.stop.kind is OuterKind.MAX_ITERATIONS
    began = [each.began - report.iterations[0].began for each in report.iterations]
    assert began == [0, 300, 600, 900]
    assert [m.content for m in state.messages] == ["look", "all well"] * 4
    assert [len(request) for request in model.requests] == [1, 3, 5, 7]
    assert (report.cost_usd, state.cost_usd) == (Decimal("0.008"), Decimal("0.008"))
    assert [each.turns for each in report.iterations] == [1, 1, 1, 1]


def test_it_fires_only_between_runs_and_does_not_make_up_for_what_it_missed(setup: Make) -> None:
    clock = FakeClock()

    @tool(read_only=True)
    def look() -> str:
        """Take a quarter of an hour."""
        clock.advance(900)
        return "seen"

    model = ScriptedModel(lambda n, m: calls((f"c{n}", "look", {})) if n % 2 == 0 else says("done"))
    made = setup(model, tools=[look], clock=clock)
    report = go(start(), scheduled(made), made, Caps(iterations=3))
    began = [each.began - report.iterations[0].began for each in report.iterations]
    assert began == [0, 900 + 300, 2 * (900 + 300)]


def test_an_interval_expires_after_seven_days_with_a_last_firing(
    setup: Make, said: list[str]
) -> None:
    made = setup(ScriptedModel([says("ok")], forever=True))
    report = go(start(), scheduled(made, every=DAY), made, Caps(unlimited=True))
    assert str(report.stop) == "expired: 7 days after it was made"
    assert len(report.iterations) == 8
    assert said[-1] == "task 1 ends: 7 days after it was made"
    assert re.fullmatch(r"next round on \d{4}-\d\d-\d\d at \d\d:\d\d:\d\d, in 1 day", said[0])


def test_the_user_ends_it_while_it_waits(setup: Make) -> None:
    signal = Cancel()

    class Interrupted(FakeClock):
        async def sleep(self, seconds: float) -> None:
            signal.set("user pressed Stop")
            await asyncio.sleep(60)

    model = ScriptedModel([says("ok")], forever=True)
    made = setup(model, clock=Interrupted(), cancel=signal)
    schedule = scheduled(made)
    report = go(start(), schedule, made)
    assert (str(report.stop), len(model.requests)) == ("user: user pressed Stop", 1)
    assert len(schedule.tasks) == 1, "it is still there for a later process"


@pytest.mark.parametrize("every", [None, 300], ids=["own pace", "interval"])
def test_a_round_that_was_broken_off_is_due_again_for_a_later_process(
    setup: Make, tmp_path: Path, every: float | None
) -> None:
    """By a person or by a cap: else there would be nothing left to go on with."""
    signal, path = Cancel(), tmp_path / "tasks.json"

    def reply(turn: int, _: Any) -> Any:
        signal.set("user pressed Stop")
        return says("ok")

    made = setup(ScriptedModel(reply), cancel=signal)
    schedule = Schedule(path)
    schedule.add("look", made.clock.time(), every)
    state = start()
    assert go(state, schedule, made).stop.kind is OuterKind.USER
    cap = Caps(cost="0.0001")
    made = setup(ScriptedModel([says("ok")], forever=True))
    assert go(state, Schedule(path), made, cap).stop.kind is OuterKind.MAX_COST
    made = setup(ScriptedModel([says("ok")], forever=True))
    report = go(state, Schedule(path), made, Caps(iterations=1))
    assert [each.task for each in report.iterations] == ["look"]


def test_what_was_being_fired_when_a_process_died_is_due(tmp_path: Path) -> None:
    schedule = Schedule(tmp_path / "tasks.json")
    schedule.fire(schedule.add("look", 100.0, 300))
    found = Schedule(tmp_path / "tasks.json").next()
    assert found is not None
    assert (found.prompt, found.due, found.fired) == ("look", 100.0, 1)


def pacing(*steps: Any) -> ScriptedModel:
    """Each step is a call, which is followed by a word."""
    script = [r for n, step in enumerate(steps) for r in (calls((f"c{n}", *step)), says("ok"))]
    return ScriptedModel(script)


def wait(minutes: float, reason: str = "CI is running") -> tuple[str, dict[str, Any]]:
    return "wait", {"minutes": minutes, "reason": reason}


def test_at_its_own_pace_the_model_names_a_delay_and_a_reason_and_may_end_it(
    setup: Make, said: list[str]
) -> None:
    end = ("end_loop", {"reason": "merged"})
    model = pacing(wait(5), wait(0.1, "nearly"), wait(600, "night"), end)
    made = setup(model)
    state = start()
    report = go(state, scheduled(made, every=None), made)
    assert str(report.stop) == "ended_by_model: merged"
    assert report.done
    began = [each.began - report.iterations[0].began for each in report.iterations]
    assert began == [0, 300, 300 + MINUTE, 300 + MINUTE + 3_600]
    assert said == [
        "going on in 5 minutes: CI is running",
        "going on in 1 minutes: nearly",
        "going on in 60 minutes: night",
        "task 1 ends: merged",
    ]
    results = [m.content for m in state.messages if m.role == "tool"]
    assert results[1] == "Going on in 1 minutes (it may be 1 to 60)."
    assert problems(state.messages) == []


def test_a_model_that_does_not_say_when_to_go_on_ends_it(setup: Make) -> None:
    made = setup(ScriptedModel([says("hm")]))
    report = go(start(), scheduled(made, every=None), made)
    assert str(report.stop) == "idle: the model did not say when to go on"
    assert not report.done


def test_a_delay_without_a_reason_is_asked_for_again(setup: Make) -> None:
    made = setup(pacing(wait(5, " "), wait(5)))
    state = start()
    report = go(state, scheduled(made, every=None), made)
    results = [m.content for m in state.messages if m.role == "tool"]
    assert results == ["Error: say why: the reason is shown to the user."]
    assert report.stop.kind is OuterKind.IDLE


def test_several_tasks_share_the_conversation_and_one_that_ends_leaves_the_others(
    setup: Make,
) -> None:
    model = ScriptedModel([says("ok")], forever=True)
    made = setup(model)
    schedule = scheduled(made, "often", 300)
    schedule.add("once", made.clock.time())
    schedule.add("rarely", made.clock.time(), 600)
    report = go(start(), schedule, made, Caps(iterations=7))
    assert [each.task for each in report.iterations] == [
        "often",
        "once",
        "rarely",
        "often",
        "often",
        "rarely",
        "often",
    ]


def test_money_caps_the_whole_of_it_but_not_what_the_conversation_had_cost_before(
    setup: Make,
) -> None:
    model, state = ScriptedModel([says("ok")], forever=True), start()
    made = setup(model)
    go(state, scheduled(made), made, Caps(iterations=3))
    report = go(state, scheduled(made), made, Caps(cost="0.051", iterations=99))
    assert report.stop.kind is OuterKind.MAX_COST
    assert report.cost_usd <= Decimal("0.051")
    assert state.cost_usd == Decimal("0.006") + report.cost_usd
    assert report.cost_usd > Decimal("0.04")


def test_caps_count_what_the_rounds_of_earlier_processes_have_used(
    setup: Make, tmp_path: Path
) -> None:
    model, state, path = ScriptedModel([says("ok")], forever=True), start(), tmp_path / "tasks.json"
    made = setup(model)
    schedule = Schedule(path)
    schedule.add("look", made.clock.time(), 300)
    go(state, schedule, made, Caps(iterations=2))
    report = go(state, Schedule(path), made, Caps(iterations=2))
    assert (str(report.stop), report.iterations) == ("max_iterations (2 of 2)", [])
    report = go(state, Schedule(path), made, Caps(iterations=5, cost="0.0061"))
    assert report.stop.kind is OuterKind.MAX_COST
    assert [each.turns for each in report.iterations] == [1, 0], "no more fits in what is left"
    assert Schedule(path).spent().cost_usd == state.cost_usd == Decimal("0.006")


def test_a_wait_is_told_in_the_largest_unit_that_it_fills() -> None:
    assert [in_words(each) for each in (0.5, 60, 5_400, 86_400, 8 * 86_400)] == [
        "0.5 seconds",
        "1 minute",
        "1.5 hours",
        "1 day",
        "8 days",
    ]


def test_three_failed_rounds_end_it_and_so_does_one_that_needs_a_person(setup: Make) -> None:
    down = ModelError("503: overloaded", status=503, retryable=True)
    made = setup(ScriptedModel([down], forever=True))
    report = go(start(), scheduled(made), made)
    assert (report.stop.kind, len(report.iterations)) == (OuterKind.FAILURES, 3)
    made = setup(ScriptedModel([ModelError("402: no credit", status=402)], forever=True))
    report = go(start(), scheduled(made), made)
    assert (report.stop.kind, len(report.iterations)) == (OuterKind.NEEDS_PERSON, 1)


def test_a_round_that_a_limit_cut_short_is_closed_in_words_before_the_next(setup: Make) -> None:
    @tool(read_only=True)
    def look() -> str:
        """Look."""
        return "seen"

    model = ScriptedModel(lambda n, m: calls((f"c{n}", "look", {})))
    made = setup(model, tools=[look], stop=MaxTurns(2))
    state = start()
    report = go(state, scheduled(made), made, Caps(iterations=3))
    assert [each.reason for each in report.iterations] == ["max_turns"] * 3
    assert [each.turns for each in report.iterations] == [2, 2, 2]
    assert problems([*state.messages[:-1]]) == []


def test_a_limit_counts_from_the_round_on_and_a_window_does_not(setup: Make) -> None:
    state = start()
    made = setup(ScriptedModel([says("ok")], forever=True), stop=None)
    go(state, scheduled(made), made, Caps(iterations=3))
    now = made.clock.time() + 1_000
    stop = MaxTurns(5) | MaxCost("1") | Deadline(60) | ContextWindow(9) & MaxTokens(10)
    moved = repr(from_here(stop, state, now))
    elapsed = now - state.times.started
    assert moved == repr(
        MaxTurns(8) | MaxCost("1.006") | Deadline(60 + elapsed) | ContextWindow(9) & MaxTokens(3310)
    )
