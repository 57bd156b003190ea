"""Effects whose answer is lost, ids used twice, huge and broken texts, and the last tool."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from effects_ledger import Ledger

from fakeprovider_harness import (
    FakeClock,
    FatalToolError,
    ListTrace,
    MaxToolCalls,
    MaxTurns,
    PermanentToolError,
    Price,
    RunState,
    Settings,
    Status,
    Store,
    Tool,
    ToolError,
    TransientToolError,
    approve,
    reject,
    run,
    say,
    tool,
)
from fakeprovider_harness.models.base import ModelError, ModelReply
from fakeprovider_harness.models.scripted import ScriptedModel, calls, problems, says

CAP = MaxTurns(20)


def start() -> RunState:
    return RunState.start("task", run_id="r")


def results(state: RunState) -> list[tuple[str | None, str | None]]:
    return [(m.call_id, m.outcome) for m in state.messages if m.role == "tool"]


def texts(state: RunState) -> list[str]:
    return [m.content or "" for m in state.messages if m.role == "tool"]


class Charge:
    """Charges, and then the answer is lost."""

    def __init__(self, error: BaseException) -> None:
        self.error = error
        self.keys: list[str] = []

    def tool(self, **declared: Any) -> Tool:
        def charge(eur: int, ctx: Any) -> str:
            self.keys.append(ctx.idempotency_key)
            raise self.error

        schema = {"type": "object", "properties": {"eur": {"type": "integer"}}}
        return Tool("charge", "Charge a card.", schema, charge, retries=3, **declared)


LOST = [
    TimeoutError("no answer"),
    ConnectionResetError("reset by peer"),
    httpx.ReadTimeout("no answer"),
]


@pytest.mark.parametrize("error", LOST)
def test_an_effect_whose_answer_is_lost_happens_once_and_is_unknown(
    error: BaseException,
) -> None:
    charge = Charge(error)
    script = [calls(("a", "charge", {"eur": 5})), calls(("b", "charge", {"eur": 5})), says("ok")]
    model = ScriptedModel(script)
    state = run(start(), model=model, tools=[charge.tool()], stop=CAP, clock=FakeClock())
    assert len(charge.keys) == 1
    assert results(state) == [("a", "unknown")]
    assert "may have taken effect; check before repeating" in texts(state)[0]
    assert state.reason == "approval", "the same charge again is asked about"
    (wait,) = state.interruptions
    assert (wait.call_id, wait.note) == (
        "b",
        "an earlier call like this one may have taken effect, nobody knows",
    )
    state = run(reject(state, "b", "I looked: it was charged"), model=model,
                tools=[charge.tool()], stop=CAP)  # fmt: skip
    assert (state.status, len(charge.keys)) == (Status.COMPLETED, 1)


def test_an_approval_for_the_run_does_not_cover_a_repeat_of_what_nobody_knows() -> None:
    charge = Charge(TimeoutError())
    script = [calls((f"{n}", "charge", {"eur": 5})) for n in range(2)]
    model = ScriptedModel([*script, says("ok")])
    tools = [charge.tool(needs_approval=True)]
    state = run(start(), model=model, tools=tools, stop=CAP)
    state = run(approve(state, "0", always=True), model=model, tools=tools, stop=CAP)
    assert (state.reason, len(charge.keys)) == ("approval", 1)


@pytest.mark.parametrize(
    ("declared", "error", "tries"),
    [
        ({}, TimeoutError(), 1),
        ({}, RuntimeError("no"), 1),
        ({}, ToolError("no"), 1),
        ({}, ConnectionRefusedError(), 1),
        ({}, TransientToolError("the queue is full"), 4),
        ({"idempotent": True}, TimeoutError(), 4),
        ({"idempotent": True}, PermanentToolError("gone"), 1),
        ({"read_only": True}, RuntimeError("no"), 4),
        ({"read_only": True}, ToolError("no such file"), 1),
        ({"read_only": True}, FatalToolError("stop"), 1),
    ],
)
def test_a_tool_is_tried_again_only_where_no_effect_can_happen_twice(
    declared: Any, error: BaseException, tries: int
) -> None:
    charge, clock = Charge(error), FakeClock(0)
    model = ScriptedModel([calls(("a", "charge", {"eur": 5})), says("ok")])
    state = run(start(), model=model, tools=[charge.tool(**declared)], stop=CAP, clock=clock)
    assert charge.keys == ["r/1.0"] * tries
    assert state.tool_runs == tries
    assert (clock.now > 0) is (tries > 1)


def test_tries_end_with_success_and_at_the_limit_on_calls() -> None:
    attempts: list[int] = []

    @tool(read_only=True, retries=5)
    def flaky() -> str:
        """Work at the third try."""
        attempts.append(1)
        if len(attempts) < 3:
            raise RuntimeError("not yet")
        return "worked"

    model = ScriptedModel([calls(("a", "flaky", {})), says("done")])
    state = run(start(), model=model, tools=[flaky], stop=CAP, clock=FakeClock())
    assert (texts(state), len(attempts), state.tool_runs) == (["worked"], 3, 3)
    attempts.clear()
    model = ScriptedModel([calls(("a", "flaky", {})), says("done")])
    state = run(
        start(), model=model, tools=[flaky], stop=MaxToolCalls(2, "skip"), clock=FakeClock()
    )
    assert (len(attempts), results(state)) == (2, [("a", "error")])


def test_reused_ids_are_four_calls_each_with_its_own_result(ledger: Ledger) -> None:
    @tool(read_only=True)
    def search(q: str) -> str:
        """Search."""
        return f"found {q}"

    script = [
        calls(("search:0", "search", {"q": "a"})),
        calls(("search:0", "search", {"q": "b"})),
        calls(("x", "search", {"q": "c"}), ("x", "search", {"q": "d"})),
        says("done"),
    ]
    model = ScriptedModel(script)
    state = run(start(), model=model, tools=[search], stop=CAP)
    assert texts(state) == ["found a", "found b", "found c", "found d"]
    sent = model.requests[-1]
    asked = [call.id for message in sent for call in message.calls]
    assert asked[0] == "search:0"
    assert len(set(asked)) == 4
    for earlier in model.requests:
        assert sent[: len(earlier)] == earlier, "what was sent once is sent the same again"


def test_a_huge_result_is_cut_where_it_is_sent_and_whole_on_disk(tmp_path: Path) -> None:
    huge = "".join(f"line {n}\n" for n in range(200_000))

    @tool(read_only=True)
    def cat() -> str:
        """A large file."""
        return huge

    model = ScriptedModel([calls(("a", "cat", {})), calls(("b", "cat", {})), says("done")])
    with Store(tmp_path / "runs.db") as store:
        run(start(), model=model, tools=[cat], stop=CAP, store=store)
        assert texts(store.load("r"))[0] == huge
    sent = next(m.content or "" for m in model.requests[-1] if m.role == "tool")
    assert len(sent) < 40_200
    assert sent.startswith("line 0\n")
    assert sent.endswith("line 199999\n")
    assert f"[{len(huge) - 40_000:,} of {len(huge):,} characters are left out here." in sent
    assert model.requests[1] == model.requests[2][: len(model.requests[1])]


def test_broken_unicode_in_a_result_is_mended_before_it_is_stored() -> None:
    @tool(read_only=True)
    def cat() -> str:
        """Text with half a pair, as a careless cut leaves it."""
        return "smile \ud83d" + "\U0001f600" * 30_000

    model = ScriptedModel([calls(("a", "cat", {})), says("done")])
    state = run(start(), model=model, tools=[cat], stop=CAP)
    state.to_json().encode()
    sent = model.requests[1][-1].content or ""
    sent.encode()
    assert sent.startswith("smile \ufffd")


def test_broken_unicode_in_arguments_and_in_what_the_user_says_is_mended() -> None:
    got: list[str] = []

    @tool
    def note(text: str) -> str:
        """Keep a note."""
        got.append(text)
        return text

    script = [calls(("a", "note", '{"text": "half \\ud83d"}')), says("ok \udc00"), says("done")]
    model = ScriptedModel(script)
    state = run(RunState.start("task \ud83d"), model=model, tools=[note], stop=CAP)
    state = run(say(state, "more \ud83d"), model=model, tools=[note], stop=CAP)
    assert got == ["half \ufffd"]
    for request in model.requests:
        for message in request:
            (message.content or "").encode()
            for call in message.calls:
                json.loads(call.arguments)["text"].encode()
    assert state.status is Status.COMPLETED


@pytest.mark.parametrize("status", [400, 413])
def test_a_prompt_that_is_too_long_is_a_stop_of_its_own_and_resumable(
    status: int,
) -> None:
    error = ModelError("too long", status=status, code="context_length_exceeded")
    model = ScriptedModel([error, says("done")])
    state = run(start(), model=model, stop=CAP)
    assert (state.status, state.reason) == ("context_exceeded", "context_window")
    assert run(state, model=model, stop=CAP).status is Status.COMPLETED


def finish(**declared: Any) -> Tool:
    @tool(final=True, **declared)
    def finish(answer: str) -> str:
        """Say the answer and end."""
        return answer

    return finish


DONE = ("b", "finish", {"answer": "42"})


def both(first: Any, *more: Any) -> ModelReply:
    return calls(first, DONE, *more)


def test_work_and_done_in_one_reply_happen_in_that_order(
    ledger: Ledger, check: Callable[..., None], price: Price
) -> None:
    model, trace = ScriptedModel([both(("a", "write", {"x": 1}))]), ListTrace()
    state = run(
        start(), model=model, tools=[ledger.write(), finish()], stop=CAP, trace=trace,
        price=price,
    )  # fmt: skip
    assert (state.status, state.reason, state.answer) == (Status.COMPLETED, "answered", "42")
    assert (ledger.done, results(state)) == ([1], [("a", "ok"), ("b", "ok")])
    check(state, model, trace)


def test_done_is_refused_where_the_work_before_it_failed(ledger: Ledger) -> None:
    @tool
    def write(x: int) -> str:
        """Fail."""
        raise ToolError("the disk is full")

    model = ScriptedModel([both(("a", "write", {"x": 1})), says("it failed")])
    state = run(start(), model=model, tools=[write, finish()], stop=CAP)
    assert results(state) == [("a", "error"), ("b", "error")]
    assert texts(state)[1] == "Error: not finished: write did not succeed. Deal with that first."
    assert (state.status, state.answer) == (Status.COMPLETED, "it failed")


def test_done_waits_for_the_approval_of_what_comes_before_it(ledger: Ledger) -> None:
    tools = [ledger.write(needs_approval=True), finish(read_only=True)]
    model = ScriptedModel([both(("a", "write", {"x": 1})), says("declined")])
    state = run(start(), model=model, tools=tools, stop=CAP)
    assert (state.status, state.reason, state.answer) == ("interrupted", "approval", "")
    declined = RunState.from_json(state.to_json())
    state = run(approve(state, "a"), model=model, tools=tools, stop=CAP)
    assert (state.status, state.answer, ledger.done) == (Status.COMPLETED, "42", [1])
    state = run(reject(declined, "a"), model=model, tools=tools, stop=CAP)
    assert (state.answer, results(state)) == ("declined", [("a", "denied"), ("b", "error")])


def test_what_was_asked_for_after_done_is_not_done(ledger: Ledger) -> None:
    model = ScriptedModel([calls(DONE, ("c", "write", {"x": 1})), says("hello")])
    tools = [ledger.write(), finish()]
    state = run(start(), model=model, tools=tools, stop=CAP)
    assert (state.answer, ledger.done) == ("42", [])
    assert results(state) == [("b", "ok"), ("c", "skipped")]
    state = run(say(state, "hi"), model=model, tools=tools, stop=CAP)
    assert (state.status, state.answer) == (Status.COMPLETED, "hello")
    assert problems(model.requests[1]) == []


def test_a_typo_is_told_with_near_names_and_the_run_goes_on(ledger: Ledger) -> None:
    script = [calls(("a", "raed", {"x": 1})), calls(("b", "read", {"x": 1})), says("done")]
    state = run(start(), model=ScriptedModel(script), tools=[ledger.read], stop=CAP)
    assert "Did you mean read?" in texts(state)[0]
    assert (state.status, results(state)) == (
        Status.COMPLETED,
        [("a", "invalid_args"), ("b", "ok")],
    )


def test_a_permanent_error_says_so_and_the_same_call_is_not_run_again() -> None:
    runs: list[int] = []

    @tool(read_only=True)
    def quota(x: int) -> str:
        """Fail for good."""
        runs.append(x)
        raise PermanentToolError("the quota is used up")

    script = [*[calls((f"c{n}", "quota", {"x": 1})) for n in range(2)],
              calls(("d", "quota", {"x": 2})), says("done")]  # fmt: skip
    switches = Settings(permanent="tell")
    state = run(start(), model=ScriptedModel(script), tools=[quota], stop=CAP, settings=switches)
    assert runs == [1, 2]
    assert texts(state)[0].endswith("This is permanent: do not retry.")
    assert texts(state)[1].startswith("Not run: this very call failed before, for good")
    assert results(state) == [("c0", "error"), ("c1", "denied"), ("d", "error")]
