"""Public reports about "done" by assertion, by their number in the collection of cases."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from effects_ledger import Ledger

from fakeprovider_harness import (
    Cancel,
    ListTrace,
    MaxTurns,
    Price,
    RunState,
    Settings,
    Status,
    run,
    say,
    subagent,
    tool,
)
from fakeprovider_harness.models.base import Usage
from fakeprovider_harness.models.scripted import ScriptedModel, calls, problems, says
from fakeprovider_harness.trace import Event, LateEffect, Verification
from fakeprovider_harness.verify import Claim, Verdict, failed, passed, stale, unreachable


def start() -> RunState:
    return RunState.start("task", run_id="r")


def write(x: int) -> Any:
    return calls((f"c{x}", "write", {"x": x}))


def verdicts(state: RunState) -> list[str]:
    return [check.verdict for check in state.checks]


class Wants:
    """Passes when the ledger is as wanted, and counts how often it was asked."""

    def __init__(self, ledger: Ledger, *wanted: int) -> None:
        self._ledger, self._wanted = ledger, list(wanted)
        self.asked = 0

    def __call__(self, claim: Claim) -> Verdict:
        self.asked += 1
        done = self._ledger.done
        return passed() if done == self._wanted else failed(f"the ledger is {done}")


def test_done_without_the_work_gets_feedback_and_completes_only_when_verified(
    ledger: Ledger, price: Price, check: Callable[..., None]
) -> None:
    model, trace = ScriptedModel([says("DONE"), write(1), says("DONE")]), ListTrace()
    wants = Wants(ledger, 1)
    state = run(
        start(),
        model=model,
        tools=[ledger.write()],
        stop=MaxTurns(9),
        verify=wants,
        trace=trace,
        price=price,
    )
    assert (state.status, state.reason, state.verified) == (Status.COMPLETED, "verified", True)
    assert (wants.asked, verdicts(state), state.answer) == (2, ["fail", "pass"], "DONE")
    feedback = model.requests[1][-1]
    assert feedback.role == "user"
    assert feedback.content == "Not done yet (check 1 of 3 failed): the ledger is []"
    events = [event for event in trace.events if isinstance(event, Verification)]
    assert [(event.turn, event.verdict) for event in events] == [(1, "fail"), (3, "pass")]
    check(state, model, trace)


def test_a_limit_after_a_failed_check_keeps_the_text_and_is_not_completed(ledger: Ledger) -> None:
    model = ScriptedModel([says("draft"), says("unchecked")])
    state = run(start(), model=model, stop=MaxTurns(2), verify=lambda claim: False)
    assert (state.status, state.reason) == ("max_turns_exceeded", "max_turns")
    assert (state.claim, state.answer, state.verified) == ("unchecked", "unchecked", False)


def test_a_claim_on_the_last_permitted_turn_is_checked_and_may_complete() -> None:
    model = ScriptedModel([says("done")])
    state = run(start(), model=model, stop=MaxTurns(1), verify=lambda claim: True)
    assert (state.status, state.reason) == (Status.COMPLETED, "verified")


def test_a_write_after_the_check_makes_it_stale_and_the_next_claim_is_checked_again(
    ledger: Ledger,
) -> None:
    model = ScriptedModel([write(1), says("DONE"), write(2), says("DONE")])
    wants, tools = Wants(ledger, 1), [ledger.write()]
    state = run(start(), model=model, tools=tools, stop=MaxTurns(9), verify=wants)
    assert (state.verified, wants.asked) == (True, 1)
    late = RunState.from_json(state.to_json())
    late.writes += 1  # as a tool that was given up, and ends after all, does
    assert (late.status, late.verified) == (Status.COMPLETED, False)
    say(state, "one more thing")
    state = run(state, model=model, tools=tools, stop=MaxTurns(4), verify=wants)
    assert (state.reason, state.verified, wants.asked) == ("max_turns", False, 2)
    assert verdicts(state) == ["pass", "fail"]


def test_a_late_write_while_the_check_runs_has_it_made_again(ledger: Ledger) -> None:
    asked = []

    def verify(claim: Claim) -> bool:
        asked.append(len(ledger.done))
        if len(asked) == 1:
            claim.state.writes += 1  # as a tool that was given up, and ends after all, does
        return True

    state = run(start(), model=ScriptedModel([says("done")]), stop=None, verify=verify)
    assert (len(asked), state.reason, state.verified) == (2, "verified", True)


def test_three_failed_checks_over_the_run_end_it_whatever_tools_run_in_between(
    ledger: Ledger,
) -> None:
    script = [r for x in range(9) for r in (calls((f"c{x}", "read", {"x": x})), says("DONE"))]
    model = ScriptedModel(script)
    state = run(start(), model=model, tools=[ledger.read], stop=None, verify=lambda claim: False)
    assert (state.status, state.reason) == ("unverified", "verification_failed")
    assert state.stop is not None
    assert (state.stop.value, state.stop.limit, len(model.requests)) == (3, 3, 6)
    assert (state.resumable, state.verified, state.answer) == (True, False, "DONE")
    state = RunState.from_json(state.to_json())
    run(state, model=model, tools=[ledger.read], stop=None, verify=lambda claim: False)
    assert (state.reason, len(model.requests)) == ("verification_failed", 8)
    assert problems(state.messages) == []


@pytest.mark.parametrize("kind", ["raises", "times out", "no verdict", "odd evidence"])
def test_a_verifier_that_breaks_is_tried_once_more_and_the_model_is_not_blamed(
    kind: str,
) -> None:
    asked = []

    async def verify(claim: Claim) -> Any:
        asked.append(kind)
        if kind == "raises":
            raise OSError("no such host")
        if kind == "times out":
            await asyncio.sleep(60)
        return None if kind == "no verdict" else passed(odd=object())

    model = ScriptedModel([says("done")])
    settings = Settings(verifier_timeout=0.02)
    state = run(start(), model=model, stop=None, verify=verify, settings=settings)
    assert (state.status, state.reason) == (Status.FAILED, "verifier_error")
    assert (len(asked), len(model.requests), verdicts(state)) == (2, 1, ["error"])
    assert state.messages[-1].content == "done"
    assert state.stop is not None
    assert state.stop.evidence["error"]


def test_a_verifier_that_breaks_once_is_asked_again_without_a_model_call() -> None:
    answers = iter([OSError("flaky"), True])

    def verify(claim: Claim) -> bool:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    model = ScriptedModel([says("done")])
    state = run(start(), model=model, stop=None, verify=verify)
    assert (state.reason, len(model.requests), verdicts(state)) == ("verified", 1, ["pass"])


def test_an_unreachable_goal_fails_the_run() -> None:
    model = ScriptedModel([says("done")])
    verify = lambda claim: unreachable("the file server is gone")  # noqa: E731
    state = run(start(), model=model, stop=None, verify=verify)
    assert (state.status, state.reason) == (Status.FAILED, "goal_unreachable")
    assert str(state.stop) == "goal_unreachable: the file server is gone"


def test_without_a_verifier_a_claim_completes_and_says_that_nobody_checked() -> None:
    text = "Done. Wrote out.csv; tests pass."
    state = run(start(), model=ScriptedModel([says(text)]), stop=None)
    assert (state.reason, state.claim, state.verified) == ("answered", text, False)


def test_ended_claimed_and_verified_are_three_facts(ledger: Ledger) -> None:
    working = run(
        start(), model=ScriptedModel([write(1)]), tools=[ledger.write()], stop=MaxTurns(1)
    )
    assert (working.status, working.claim, working.verified) == ("max_turns_exceeded", None, False)
    cut = run(start(), model=ScriptedModel([says("so", finish="length")]), stop=MaxTurns(1))
    assert (cut.claim, cut.verified) == (None, False)


def test_evidence_that_the_run_tampered_with_is_a_claim_for_a_person_to_look_at() -> None:
    verify = lambda claim: stale("you changed the tests", test_changes=["t.py"])  # noqa: E731
    state = run(start(), model=ScriptedModel([says("done")]), stop=None, verify=verify)
    assert (state.status, state.reason, state.verified) == ("unverified", "claimed", False)
    assert state.stop is not None
    assert state.stop.evidence["test_changes"] == ["t.py"]
    state = run(state, model=ScriptedModel([]), stop=None, verify=lambda claim: True)
    assert (state.reason, verdicts(state)) == ("verified", ["stale", "pass"])


def test_a_claim_in_the_words_of_a_sub_agent_is_checked_like_any_other(ledger: Ledger) -> None:
    child = ScriptedModel([says('{"status": "success", "verified": true}')])
    research = subagent("research", "Ask.", model=child, tools=[], stop=MaxTurns(3))
    model = ScriptedModel(
        [calls(("a", "research", {"question": "q"})), says("The agent verified it.")], forever=True
    )
    state = run(start(), model=model, tools=[research], stop=None, verify=Wants(ledger, 1))
    assert (state.reason, state.verified) == ("verification_failed", False)


def test_a_cancellation_during_a_check_ends_the_run_resumably_and_records_no_verdict() -> None:
    signal = Cancel()

    async def verify(claim: Claim) -> bool:
        signal.set("user pressed Stop")
        await claim.cancel.wait()
        return True

    model = ScriptedModel([says("done")])
    state = run(start(), model=model, stop=None, verify=verify, cancel=signal)
    assert (state.reason, state.checks, state.resumable) == ("user pressed Stop", [], True)
    state = run(state, model=model, stop=None, verify=lambda claim: True)
    assert (state.reason, len(model.requests)) == ("verified", 1)


def test_what_a_verifier_spends_is_in_the_total_of_the_run(price: Price) -> None:
    def verify(claim: Claim) -> bool:
        claim.charge(Usage(500, 10), Decimal("0.0006"))
        return True

    state = run(start(), model=ScriptedModel([says("done")]), stop=None, verify=verify, price=price)
    assert (state.input_tokens, state.output_tokens) == (1500, 110)
    assert state.cost_usd == Decimal("0.0026")


def test_a_tool_given_up_that_writes_during_the_check_has_it_made_again() -> None:
    release, late, asked = threading.Event(), threading.Event(), []

    @tool
    def slow() -> str:
        """Ignores its cancellation until it is released."""
        release.wait(5)
        return "wrote after all"

    def verify(claim: Claim) -> bool:
        asked.append(claim.state.writes)
        release.set()
        return late.wait(5)

    def trace(event: Event) -> None:
        if isinstance(event, LateEffect):
            late.set()

    model = ScriptedModel([calls(("a", "slow", {})), says("done")])
    state = run(
        start(),
        model=model,
        tools=[slow],
        stop=None,
        settings=Settings(tool_timeout=0.01, grace=0.0),
        verify=verify,
        trace=trace,
    )
    assert (asked, state.reason, state.verified) == ([1, 2], "verified", True)
