"""Goal: the agent's word is not enough; an evaluator's is an opinion; caps and idleness end it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from fakeprovider_harness import Cancel, MaxTurns, Price, RunState, Settings, Tool, tool
from fakeprovider_harness.models.base import ModelError
from fakeprovider_harness.models.scripted import ScriptedModel, calls, problems, says
from fakeprovider_harness.outer import Caps, Goal, OuterKind, OuterReport, Setup, goal, vague
from fakeprovider_harness.verify import Evaluator

Make = Callable[..., Setup]
SMALL = Price("0.1", "0.4")
TEXT = "pytest exits with 0, or stop after 20 turns"


@tool(read_only=True)
def read(x: int = 0) -> str:
    """Read."""
    return "v"


def verdict(kind: str, reason: str = "because") -> Any:
    return says(f'{{"verdict": "{kind}", "reason": "{reason}"}}')


def judging(*replies: Any) -> tuple[ScriptedModel, Evaluator]:
    model = ScriptedModel(list(replies), forever=True, name="small")
    return model, Evaluator(model, TEXT, price=SMALL)


def reads(n: int) -> Any:
    return calls((f"c{n}", "read", {"x": n}))


def go(
    model: ScriptedModel,
    evaluator: Evaluator,
    setup: Make,
    *,
    caps: Caps | None = None,
    state: RunState | None = None,
    wanted: dict[str, Any] | None = None,
    tools: list[Tool] | None = None,
    **given: Any,
) -> tuple[OuterReport, RunState]:
    state = state or RunState.start(TEXT, run_id="goal")
    made = setup(model, tools=[read] if tools is None else tools, **given)
    asked = Goal(text=TEXT, evaluator=evaluator, **(wanted or {}))
    report = asyncio.run(goal(state, asked, made, caps or Caps(iterations=10)))
    assert problems(state.messages) == []
    assert report.cost_usd == state.cost_usd
    assert report.input_tokens == state.input_tokens
    return report, state


def test_not_met_goes_back_in_words_until_it_is_met_and_both_models_are_paid(
    setup: Make, price: Price
) -> None:
    judge, evaluator = judging(verdict("not_met", "2 tests fail"), verdict("met"))
    model = ScriptedModel([reads(0), says("done"), reads(1), says("done now")])
    report, state = go(model, evaluator, setup)
    assert (report.stop.kind, report.done, report.verified) == (OuterKind.MET, True, True)
    assert report.stop.evidence["by"] == "evaluator"
    assert model.requests[2][-1].content == "Not done yet (check 1 failed): 2 tests fail"
    mine = sum((price.cost(usage) for usage in model.charged), Decimal(0))
    theirs = sum((SMALL.cost(usage) for usage in judge.charged), Decimal(0))
    assert report.cost_usd == mine + theirs
    assert [each.turns for each in report.iterations] == [2, 2]
    assert [each.notes for each in report.iterations] == [("fail: 2 tests fail",), ("pass",)]
    assert state.answer == "done now"


def test_done_for_ever_and_never_met_is_idle_after_three_rounds_without_a_tool(
    setup: Make,
) -> None:
    _, evaluator = judging(verdict("not_met"))
    report, state = go(ScriptedModel([says("DONE")], forever=True), evaluator, setup)
    assert str(report.stop).startswith("idle (3 of 3)")
    assert (len(report.iterations), report.done, state.resumable) == (3, False, True)


def test_rounds_with_tools_end_at_the_cap(setup: Make) -> None:
    judge, evaluator = judging(verdict("not_met"))
    model = ScriptedModel(lambda n, _: reads(n) if n % 2 == 0 else says("DONE"))
    report, _ = go(model, evaluator, setup, caps=Caps(iterations=4), stop=MaxTurns(99))
    assert (report.stop.kind, len(judge.requests)) == (OuterKind.MAX_ITERATIONS, 4)


def test_an_apology_that_the_evaluator_takes_for_done_is_no_success(setup: Make) -> None:
    _, evaluator = judging(verdict("met", "it is done"))
    model = ScriptedModel([says("Sorry, too long, here is a summary.")])
    report, state = go(model, evaluator, setup)
    assert (report.stop.kind, report.done, report.verified) == (OuterKind.CLAIMED, False, False)
    assert (state.status, state.reason) == ("unverified", "claimed")


def test_with_a_check_beside_it_the_evaluator_s_word_is_not_enough(setup: Make) -> None:
    passes = iter([False, True])
    _, evaluator = judging(verdict("met"))
    model = ScriptedModel([reads(0), says("done"), reads(1), says("done")])
    wanted = {"check": lambda claim: next(passes)}
    report, _ = go(model, evaluator, setup, wanted=wanted)
    assert (report.stop.kind, report.stop.evidence["by"]) == (OuterKind.MET, "check")
    assert len(report.iterations) == 2


def test_a_completion_call_cut_short_is_not_run_and_ends_it_after_one_more_try(
    setup: Make,
) -> None:
    done = []

    @tool(final=True)
    def finish(answer: str) -> str:
        """Finish."""
        done.append(answer)
        return answer

    cut = calls(("f", "finish", '{"answer": "all'))
    model = ScriptedModel(lambda n, _: replaced(cut, n))
    _, evaluator = judging(verdict("met"))
    settings = Settings(truncated_replies=2)
    report, state = go(model, evaluator, setup, tools=[finish], settings=settings)
    assert (report.stop.kind, state.reason) == (OuterKind.NO_PROGRESS, "truncated_replies")
    assert (done, len(model.requests), report.done) == ([], 2, False)


def replaced(reply: Any, n: int) -> Any:
    import msgspec

    call = msgspec.structs.replace(reply.calls[0], id=f"f{n}")
    return msgspec.structs.replace(reply, calls=(call,), finish="length")


@pytest.mark.parametrize(
    "answer", [says("hm, hard to say"), ModelError("500: oops", status=500), says("")]
)
def test_an_evaluator_that_says_nothing_usable_counts_as_not_met_three_times(
    setup: Make, answer: Any
) -> None:
    judge, evaluator = judging(answer)
    model = ScriptedModel(lambda n, _: reads(n) if n % 2 == 0 else says("DONE"))
    report, state = go(model, evaluator, setup)
    assert report.stop.kind is OuterKind.UNCLEAR
    assert (len(judge.requests), len(state.checks), state.resumable) == (3, 3, True)
    assert state.input_tokens == sum(u.prompt_tokens for u in [*model.charged, *judge.charged])


def test_whoever_takes_it_up_again_gives_the_evaluator_as_many_tries(setup: Make) -> None:
    judge, evaluator = judging(says("?"))
    model = ScriptedModel(lambda n, _: reads(n) if n % 2 == 0 else says("DONE"))
    _, state = go(model, evaluator, setup, stop=MaxTurns(99))
    report, _ = go(model, evaluator, setup, stop=MaxTurns(99), state=state)
    assert (report.stop.kind, len(judge.requests)) == (OuterKind.UNCLEAR, 6)


def test_one_usable_answer_in_between_starts_the_count_afresh(setup: Make) -> None:
    junk = says("?")
    _, evaluator = judging(junk, junk, verdict("not_met"), junk, junk, verdict("met"))
    model = ScriptedModel(lambda n, _: reads(n) if n % 2 == 0 else says("DONE"))
    report, _ = go(model, evaluator, setup, stop=MaxTurns(99))
    assert (report.stop.kind, len(report.iterations)) == (OuterKind.MET, 6)


def test_impossible_ends_it(setup: Make) -> None:
    _, evaluator = judging(verdict("impossible", "the file is gone"))
    report, state = go(ScriptedModel([reads(0), says("I tried")]), evaluator, setup)
    assert (report.stop.kind, state.reason) == (OuterKind.IMPOSSIBLE, "goal_unreachable")
    assert str(report.stop) == "impossible: the file is gone"


def test_a_cap_on_money_holds_for_agent_and_evaluator_together(setup: Make) -> None:
    _, evaluator = judging(verdict("not_met"))
    model = ScriptedModel(lambda n, _: reads(n) if n % 2 == 0 else says("DONE"))
    settings = Settings(max_output=100)
    report, _ = go(model, evaluator, setup, caps=Caps(cost="0.02"), stop=None, settings=settings)
    assert report.stop.kind is OuterKind.MAX_COST
    assert Decimal("0.01") < report.cost_usd <= Decimal("0.02")


def test_an_error_that_needs_a_person_and_a_person_s_stop_end_it(setup: Make) -> None:
    _, evaluator = judging(verdict("met"))
    report, _ = go(ScriptedModel([ModelError("401", status=401)]), evaluator, setup)
    assert report.stop.kind is OuterKind.NEEDS_PERSON
    signal = Cancel()
    signal.set("user pressed Stop")
    report, state = go(ScriptedModel([]), evaluator, setup, cancel=signal)
    assert (report.stop.kind, state.resumable) == (OuterKind.USER, True)


def test_it_goes_on_from_its_state_in_another_process(setup: Make) -> None:
    judge, evaluator = judging(verdict("not_met"), verdict("met"))
    model = ScriptedModel([reads(0), says("done"), says("really"), says("done")])
    report, state = go(model, evaluator, setup, caps=Caps(iterations=1))
    assert report.stop.kind is OuterKind.MAX_ITERATIONS
    again = RunState.from_json(state.to_json())
    report, _ = go(model, evaluator, setup, state=again, caps=Caps(iterations=5))
    assert (report.stop.kind, len(judge.requests)) == (OuterKind.MET, 2)


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("all tests pass, or stop after 20 turns", []),
        ("make it better", ["check", "bound"]),
        ("all tests pass", ["bound"]),
        ("make it nice within 2 hours", []),
        ("make it nice until lunch", ["check"]),
    ],
)
def test_a_goal_that_names_no_check_or_no_bound_is_warned_about(
    text: str, missing: list[str], setup: Make, said: list[str]
) -> None:
    words = vague(text) or ""
    assert [each for each in ("check", "bound") if f"no {each} (" in words] == missing
    _, evaluator = judging(verdict("met"))
    made = setup(ScriptedModel([says("ok")]))
    asked = Goal(text=text, evaluator=evaluator)
    asyncio.run(goal(RunState.start(text), asked, made, Caps(iterations=1)))
    assert [line.startswith("warning: the goal names no") for line in said] == [True] * bool(
        missing
    )
