"""A context grown too long is made smaller, at a price that is charged; or the run ends."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest

from fakeprovider_harness import (
    Cancel,
    ContextWindow,
    ListTrace,
    MaxCost,
    MaxTurns,
    Price,
    RunState,
    Settings,
    run,
    say,
    tool,
)
from fakeprovider_harness.context import ContextPolicy, DropResults, Fresh, Notes, Summarise
from fakeprovider_harness.models.base import Message, ModelError, ModelReply, Usage
from fakeprovider_harness.models.scripted import ScriptedModel, calls, says
from fakeprovider_harness.trace import Beside, Compaction

PRICE = Price("1", "10")
WINDOW = 1_000


@tool(read_only=True)
def read(x: int) -> str:
    """Read."""
    return f"fact {x} " + "x" * 400


class Growing:
    """A model whose prompts are as long as what it is sent: one token in four characters.

    It reads facts 0 to `facts`, then answers; `summary` is what it says to a request for one.
    """

    name = "growing"

    def __init__(
        self, facts: int, summary: Any = "facts so far", refuse: int | None = None
    ) -> None:
        self.requests: list[list[Message]] = []
        self.charged: list[Usage] = []
        self._facts, self._summary, self._refuse = facts, summary, refuse
        self._done = 0

    async def ask(self, messages: Sequence[Message], tools: Any, **_: Any) -> ModelReply:
        strict = ScriptedModel([says("")])
        await strict.ask(messages, tools)
        self.requests.append(list(messages))
        if "replaced by your summary" in (messages[-1].content or ""):
            return self._charge(self._summary, messages)
        if self._refuse is not None and self.tokens(messages) > self._refuse:
            raise ModelError("400: too long", status=400, code="context_length_exceeded")
        self._done += 1
        if self._done > self._facts:
            return self._charge(says("done"), messages)
        return self._charge(calls((f"c{self._done}", "read", {"x": self._done})), messages)

    def _charge(self, reply: Any, messages: Sequence[Message]) -> ModelReply:
        if isinstance(reply, Exception):
            raise reply
        reply = says(reply) if isinstance(reply, str) else reply
        usage = Usage(self.tokens(messages), 10)
        self.charged.append(usage)
        return ModelReply(reply.text, reply.calls, reply.finish, usage)

    @staticmethod
    def tokens(messages: Sequence[Message]) -> int:
        return sum(len(message.content or "") for message in messages) // 4

    async def aclose(self) -> None:
        """Nothing is open."""


def carry(state: RunState) -> str:
    return f"{len(state.turns)} turns so far"


def start() -> RunState:
    return RunState.start("task", system="be brief", run_id="r")


def go(model: Any, policy: ContextPolicy, **given: Any) -> RunState:
    given.setdefault("stop", MaxTurns(60))
    return run(start(), model=model, tools=[read], price=PRICE, context=policy, **given)


@pytest.mark.parametrize(
    "policy",
    [Summarise(WINDOW), DropResults(WINDOW), Notes(WINDOW), Fresh(WINDOW, carry)],
    ids=lambda policy: type(policy).__name__,
)
def test_each_policy_keeps_prompts_near_its_window_and_every_token_is_charged(
    policy: ContextPolicy,
) -> None:
    model, trace = Growing(40), ListTrace()
    state = go(model, policy, trace=trace)
    assert (state.status, state.answer) == ("completed", "done")
    assert max(turn.usage.prompt_tokens for turn in state.turns) < 1.5 * WINDOW
    assert state.input_tokens == sum(usage.prompt_tokens for usage in model.charged)
    assert state.cost_usd == sum((PRICE.cost(usage) for usage in model.charged), Decimal(0))
    made = [event for event in trace.events if isinstance(event, Compaction)]
    assert len(made) >= 3
    assert all(event.after < event.before for event in made)
    assert len(state.messages) == 2 + 40 * 2 + 1, "the transcript itself is whole"
    assert RunState.from_json(state.to_json()) == state


def test_without_a_policy_the_prompt_grows_with_every_turn() -> None:
    state = run(start(), model=Growing(40), tools=[read], price=PRICE, stop=MaxTurns(60))
    assert state.turns[-1].usage.prompt_tokens > 4 * WINDOW


def test_a_summary_counts_as_a_step_and_in_money_and_is_seen_in_the_trace() -> None:
    trace = ListTrace()
    state = go(Growing(40), Summarise(WINDOW), trace=trace, stop=MaxTurns(20))
    summaries = [event for event in trace.events if isinstance(event, Beside)]
    assert len(summaries) == len(state.beside) >= 1
    assert (state.steps, len(state.turns)) == (20, 20 - len(summaries))
    assert state.reason == "max_turns"
    assert state.stop is not None
    assert state.stop.overshoot == 0


def test_a_summary_goes_to_its_own_model_at_its_own_price() -> None:
    small, model = ScriptedModel([says("short")], forever=True), Growing(40)
    state = go(model, Summarise(WINDOW, model=small, price=Price("0.1", "1")))
    mine = sum((PRICE.cost(usage) for usage in model.charged), Decimal(0))
    theirs = sum((Price("0.1", "1").cost(usage) for usage in small.charged), Decimal(0))
    assert state.cost_usd == mine + theirs
    assert len(small.requests) == len(state.beside) > 1
    assert all(request[-2].role == "tool" for request in small.requests), "no pair was split"


FAILURES = {
    "overflows": ModelError("400: too long", status=400, code="context_length_exceeded"),
    "fails": ModelError("500", status=500, retryable=True),
    "breaks": ModelError("reset", retryable=True, partial=ModelReply("half a")),
    "says nothing": says(" "),
    "calls a tool": calls(("z", "read", {"x": 1})),
}


@pytest.mark.parametrize("how", FAILURES)
def test_a_summary_that_cannot_be_had_is_a_list_of_the_calls_instead(how: str) -> None:
    model = Growing(40, FAILURES[how])
    state = go(model, Summarise(WINDOW))
    assert state.status == "completed"
    assert "no summary could be had" in state.view.text
    assert '- called read {"x": 1}: ok' in state.view.text
    assert state.cost_usd >= sum((PRICE.cost(usage) for usage in model.charged), Decimal(0))
    assert state.estimated == (how == "breaks")


def test_a_spiral_ends_after_two_compactions_that_freed_nothing() -> None:
    system = "long rules " * 1_000
    model = Growing(99)
    state = RunState.start("task", system=system, run_id="r")
    run(state, model=model, tools=[read], stop=None, price=PRICE, context=Summarise(WINDOW))
    assert (state.status, state.reason) == ("context_exceeded", "context_window")
    assert "2 compactions in a row freed nothing" in str(state.stop)
    assert (len(state.turns), len(state.beside) <= 2) == (3, True)
    assert state.resumable


def test_frequent_compaction_that_frees_something_is_no_spiral() -> None:
    state = go(Growing(40), Summarise(500))
    assert state.status == "completed"
    assert len(state.beside) > 8


def test_a_policy_that_has_nothing_more_to_leave_out_ends_the_run() -> None:
    state = go(Growing(40), DropResults(500))
    assert (state.status, state.reason) == ("context_exceeded", "context_window")


def test_a_reply_larger_than_the_window_is_summed_up_too() -> None:
    @tool(name="read", read_only=True)
    def huge(x: int) -> str:
        """Read."""
        return "y" * (8 * WINDOW if x == 3 else 100)

    model = Growing(6)
    state = run(start(), model=model, tools=[huge], stop=None, context=Summarise(WINDOW))
    assert state.status == "completed"
    assert model.tokens(model.requests[-1]) < WINDOW


def test_a_prompt_refused_as_too_long_is_compacted_and_sent_once_more() -> None:
    model = Growing(12, refuse=700)
    state = go(model, Summarise(10_000))
    assert state.status == "completed"
    refused = sum(model.tokens(request) > 700 for request in model.requests)
    assert refused == len(state.beside) > 0


def test_refused_again_or_with_nothing_to_leave_out_it_ends_plainly() -> None:
    for policy in (Summarise(10_000), DropResults(10_000)):
        model = Growing(12, refuse=1)
        state = go(model, policy)
        assert (state.reason, len(model.requests)) == ("context_window", 1)
    model = Growing(12, summary="x" * 4_000, refuse=700)
    state = go(model, Summarise(10_000))
    assert (state.status, state.reason) == ("context_exceeded", "context_window")
    assert len(state.beside) == 1


@pytest.mark.parametrize("policy", [DropResults(WINDOW), Notes(WINDOW)])
def test_a_result_that_the_model_has_not_seen_is_never_left_out(policy: ContextPolicy) -> None:
    @tool(name="read", read_only=True)
    def huge(x: int) -> str:
        """Read."""
        return "y" * (8 * WINDOW if x == 3 else 3_000)

    model = Growing(3)
    run(start(), model=model, tools=[huge], stop=MaxTurns(4), context=policy)
    assert [len(m.content or "") for m in model.requests[3] if m.role == "tool"][-1] == 8 * WINDOW


def test_what_a_prompt_has_at_most_is_known_also_after_the_view_has_changed() -> None:
    bounds = []

    class Watching(Growing):
        async def ask(self, messages: Sequence[Message], tools: Any, **given: Any) -> ModelReply:
            bounds.append((state.request, self.tokens(messages)))
            return await super().ask(messages, tools)

    state = start()
    model = Watching(30, summary=says("z" * 9_000))
    run(state, model=model, tools=[read], stop=MaxTurns(14), context=Summarise(WINDOW))
    assert len(state.beside) >= 1
    assert all(request and request.prompt_bound >= tokens for request, tokens in bounds)


def test_notes_are_numbered_and_fetched_by_number_through_a_resume() -> None:
    state = go(Growing(20), Notes(WINDOW), stop=MaxTurns(12))
    state = RunState.from_json(state.to_json())
    say(state, "what was fact 2?")
    asked = calls(("n1", "recall", {"note": 2}), ("n2", "recall", {"note": 99}))
    model = ScriptedModel([asked, says("done")])
    run(state, model=model, tools=[read], stop=None, context=Notes(WINDOW))
    sent = model.requests[0]
    stubs = [message for message in sent if "returns them" in (message.content or "")]
    assert "[note 2: 407 characters left out; recall(2) returns them]" in [
        message.content for message in stubs
    ]
    found, missing = [m for m in model.requests[1] if m.role == "tool"][-2:]
    assert (found.content or "").startswith("fact 2 ")
    assert (missing.content or "").startswith("Error: there is no note 99")


def test_fresh_shows_what_was_carried_and_the_results_that_nobody_has_read_yet() -> None:
    model = Growing(20)
    go(model, Fresh(WINDOW, carry))
    first = next(request for request in model.requests if len(request) == 5)
    assert [message.role for message in first] == ["system", "user", "user", "assistant", "tool"]
    turns = model.requests.index(first)
    assert first[2].content == f"{turns} turns so far"
    assert (first[4].content or "").startswith(f"fact {turns} ")


def test_fresh_carries_a_list_of_the_calls_where_notes_cannot_be_read() -> None:
    def broken(state: RunState) -> str:
        raise OSError("no notes")

    state = go(Growing(20), Fresh(WINDOW, broken))
    assert state.status == "completed"
    assert "(OSError: no notes)" in state.view.text
    assert "- called read" in state.view.text


def test_notes_that_are_no_text_are_notes_that_cannot_be_read() -> None:
    state = go(Growing(20), Fresh(WINDOW, lambda state: 5))  # type: ignore[arg-type,return-value]
    assert state.status == "completed"
    assert "(TypeError: what carry returns is text; not 5)" in state.view.text


def test_a_budget_stops_a_run_between_a_summary_and_the_next_turn() -> None:
    model = Growing(40, summary=says("s"))
    cost = go(Growing(40), Summarise(WINDOW), stop=MaxTurns(11)).cost_usd
    state = go(model, Summarise(WINDOW), stop=MaxCost(str(cost)))
    assert state.reason == "max_cost"
    assert state.cost_usd - cost < PRICE.cost(Usage(2 * WINDOW, 10))


def test_a_reserved_budget_without_room_for_a_summary_takes_the_list_instead() -> None:
    model = Growing(40)
    policy = Summarise(WINDOW, max_output=400_000)
    state = go(model, policy, stop=MaxCost("0.5", reserve=True), settings=Settings(max_output=50))
    assert state.cost_usd <= Decimal("0.5")
    assert [usage for usage in model.charged if usage.completion_tokens > 50] == []


def test_a_cancellation_during_a_summary_ends_the_run_resumably() -> None:
    signal, model = Cancel(), Growing(40)

    class Pressing(Growing):
        async def ask(self, messages: Sequence[Message], tools: Any, **given: Any) -> ModelReply:
            signal.set("user pressed Stop")
            return await super().ask(messages, tools)

    small = Pressing(0)
    state = go(model, Summarise(WINDOW, model=small, price=PRICE), cancel=signal)
    assert (state.reason, state.resumable, state.request) == ("user pressed Stop", True, None)
    assert state.input_tokens == sum(u.prompt_tokens for u in [*model.charged, *small.charged])
    run(state, model=model, tools=[read], stop=None, context=Summarise(WINDOW), price=PRICE)
    assert state.status == "completed"


def test_a_window_as_a_stop_condition_goes_by_what_is_shown_now() -> None:
    state = go(Growing(40), Summarise(WINDOW), stop=ContextWindow(WINDOW + 200))
    assert state.status == "completed"
    cut = run(start(), model=Growing(40), tools=[read], stop=ContextWindow(WINDOW + 200))
    assert (cut.status, cut.reason) == ("context_exceeded", "context_window")


def test_a_view_is_data_and_goes_on_in_a_process_that_has_no_policy() -> None:
    state = go(Growing(40), Summarise(WINDOW), stop=MaxTurns(15))
    again = RunState.from_json(json.dumps(json.loads(state.to_json())))
    model = ScriptedModel([says("done")])
    run(again, model=model, tools=[read], stop=None)
    assert model.requests[0][2].content == state.view.text
