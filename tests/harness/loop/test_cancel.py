"""Cancellation: one signal that reaches whatever the run is doing, by the public reports."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
    Tool,
    ToolContext,
    arun,
    run,
    run_process,
    say,
    subagent,
    tool,
)
from fakeprovider_harness.models.base import ModelReply
from fakeprovider_harness.models.scripted import ScriptedModel, calls, problems, says
from fakeprovider_harness.trace import LateEffect, RunStopped

QUICK = Settings(grace=0.1)


def start() -> RunState:
    return RunState.start("task", run_id="r")


def outcomes(state: RunState) -> list[tuple[str | None, str | None]]:
    return [(m.call_id, m.outcome) for m in state.messages if m.role == "tool"]


@contextmanager
def pressed(cancel: Cancel, when: threading.Event) -> Iterator[None]:
    """Press Stop as soon as `when` is set, from another thread, as a user would."""

    def press() -> None:
        if when.wait(10):
            cancel.set("user pressed Stop")

    thread = threading.Thread(target=press)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def test_cancelled_before_the_start_makes_no_request() -> None:
    cancel, model = Cancel(), ScriptedModel([says("x")])
    cancel.set("never mind")
    state = run(start(), model=model, stop=None, cancel=cancel)
    assert (state.status, state.reason, model.requests) == ("interrupted", "never mind", [])


def test_a_cancelled_run_goes_on_when_asked_to(ledger: Ledger) -> None:
    cancel, model = Cancel(), ScriptedModel([says("x")])
    cancel.set()
    state = run(start(), model=model, stop=None, cancel=cancel)
    assert run(state, model=model, stop=None).status is Status.COMPLETED


def test_the_first_reason_stands_and_a_second_press_is_harmless() -> None:
    cancel = Cancel()
    cancel.set("first")
    cancel.set("second")
    assert (cancel.cancelled, cancel.reason) == (True, "first")


def test_a_child_signal_hears_its_parent_and_not_the_other_way_round() -> None:
    parent = Cancel()
    one, two, closed = parent.child(), parent.child(), parent.child()
    closed.close()
    one.set("timed out")
    assert (parent.cancelled, two.cancelled) == (False, False)
    parent.set("stop")
    assert (one.reason, two.reason, closed.reason) == ("timed out", "stop", None)


# Five kinds of tools, and what is told of each


class Variants:
    """One `slow_write` per way of heeding the signal; `started` is set when it runs."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.started = threading.Event()
        self.release = threading.Event()

    def make(self, kind: str) -> Tool:
        return {
            "async": self.asynchronous,
            "polling": self.polling,
            "deaf": self.deaf,
            "process": self.process,
        }[kind]()

    def asynchronous(self) -> Tool:
        @tool
        async def slow_write(s: float) -> str:
            """Write later."""
            self.started.set()
            await asyncio.Event().wait()
            self.ledger.done.append(s)
            return "wrote"

        return slow_write

    def polling(self) -> Tool:
        @tool
        def slow_write(s: float, ctx: ToolContext) -> str:
            """Write later, unless told not to."""
            self.started.set()
            ctx.cancel.wait_sync(30)
            ctx.check()
            self.ledger.done.append(s)
            return "wrote"

        return slow_write

    def deaf(self) -> Tool:
        @tool
        def slow_write(s: float) -> str:
            """Write later, whatever happens."""
            self.started.set()
            self.release.wait(10)
            self.ledger.done.append(s)
            return "wrote"

        return slow_write

    def process(self) -> Tool:
        @tool
        def slow_write(s: float, ctx: ToolContext) -> str:
            """Write later, in a process with a grandchild."""
            self.started.set()
            run_process(["sh", "-c", "sleep 600 & echo begun; sleep 600"], cancel=ctx.cancel)
            self.ledger.done.append(s)
            return "wrote"

        return slow_write


@pytest.mark.parametrize("kind", ["async", "polling", "deaf", "process"])
def test_stop_reaches_the_tool_and_what_it_did_is_told(
    ledger: Ledger, check: Callable[..., None], price: Price, kind: str
) -> None:
    variants, cancel, trace = Variants(ledger), Cancel(), ListTrace()
    wanted = [("a", "slow_write", {"s": 2}), ("b", "write", {"x": 2})]
    model = ScriptedModel([calls(*wanted), says("ok")])
    tools = [variants.make(kind), ledger.write()]
    with pressed(cancel, variants.started):
        state = run(
            start(),
            model=model,
            tools=tools,
            stop=MaxTurns(5),
            cancel=cancel,
            trace=trace,
            price=price,
            settings=Settings(grace=0.1 if kind == "deaf" else 5),  # who heeds needs little
        )
    assert (state.status, state.reason) == ("interrupted", "user pressed Stop")
    told = "unknown" if kind == "deaf" else "cancelled"
    assert outcomes(state) == [("a", told), ("b", "not_started")]
    assert ledger.done == []
    check(state, model, trace)
    stopped_at = len(trace.events)
    variants.release.set()
    if kind == "deaf":
        assert "may still be running" in (state.messages[-2].content or "")
        wait_for(lambda: len(trace.events) > stopped_at)
        (late,) = trace.events[stopped_at:]
        assert isinstance(late, LateEffect)
        assert (late.call_id, late.ok, ledger.done) == ("a", True, [2])
    state = run(say(state, "hi"), model=model, tools=tools, stop=MaxTurns(5))
    assert (state.status, state.answer) == (Status.COMPLETED, "ok")
    assert problems(model.requests[1]) == []


def wait_for(fact: Callable[[], bool], seconds: float = 5) -> None:
    end = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < end, "it did not happen"
        threading.Event().wait(0.005)


def test_stop_reaches_the_tool_of_a_sub_agent(ledger: Ledger) -> None:
    variants, cancel, trace = Variants(ledger), Cancel(), ListTrace()
    child = ScriptedModel([calls(("x", "slow_write", {"s": 1}))], name="child")
    research = subagent(
        "research",
        "Ask an agent.",
        model=child,
        tools=[variants.polling()],
        stop=MaxTurns(3),
        settings=QUICK,
        read_only=False,
    )
    model = ScriptedModel([calls(("a", "research", {"question": "?"}))])
    with pressed(cancel, variants.started):
        state = run(
            start(), model=model, tools=[research], stop=MaxTurns(5), cancel=cancel, trace=trace
        )
    assert (state.status, ledger.done) == ("interrupted", [])
    assert outcomes(state) == [("a", "cancelled")]
    ends = [e for e in trace.events if isinstance(e, RunStopped)]
    assert [(e.run_id, e.reason) for e in ends] == [
        ("r/1.0", "user pressed Stop"),
        ("r", "user pressed Stop"),
    ]


def test_after_a_cancel_the_next_message_finds_every_call_answered_once(ledger: Ledger) -> None:
    variants, cancel = Variants(ledger), Cancel()
    model = ScriptedModel(
        [calls(("a", "read", {"x": 1}), ("b", "slow_write", {"s": 1})), says("hello")]
    )
    tools = [ledger.read, variants.polling()]
    with pressed(cancel, variants.started):
        state = run(start(), model=model, tools=tools, stop=None, cancel=cancel, settings=QUICK)
    state = run(say(state, "hi"), model=model, tools=tools, stop=None)
    _, asked, first, second, user = model.requests[1]
    assert [call.id for call in asked.calls] == ["a", "b"]
    assert (first.call_id, first.content) == ("a", "v")
    assert (second.call_id, second.outcome) == ("b", "cancelled")
    assert (user.role, user.content) == ("user", "hi")


def test_a_state_saved_in_the_middle_of_a_turn_is_repaired_when_it_is_opened(
    ledger: Ledger,
) -> None:
    saved: list[str] = []

    @tool
    def slow() -> str:
        """Save what a crash would leave."""
        saved.append(state.to_json())
        return "done"

    model = ScriptedModel([calls(("a", "read", {}), ("b", "slow", {})), says("hello")])
    state = start()
    run(state, model=model, tools=[ledger.read, slow], stop=None)
    left = say(RunState.from_json(saved[0]), "hi")
    again = ScriptedModel([says("hello")])
    run(left, model=again, tools=[ledger.read, slow], stop=None)
    sent = again.requests[0]
    assert [m.role for m in sent] == ["user", "assistant", "tool", "tool", "user"]
    assert (sent[2].content, sent[3].outcome) == ("v", "unknown")
    assert "may have taken effect" in (sent[3].content or "")


# Stop at any moment


class Deaf:
    """A model that hangs and heeds no signal."""

    name = "deaf"

    def __init__(self) -> None:
        self.asked = threading.Event()

    async def ask(self, messages: Any, tools: Any, **_: Any) -> ModelReply:
        self.asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    async def aclose(self) -> None:
        return None


def test_stop_while_the_first_byte_is_waited_for_ends_the_run_and_charges_the_prompt(
    price: Price,
) -> None:
    model, cancel = Deaf(), Cancel()
    began = time.monotonic()
    with pressed(cancel, model.asked):
        state = run(start(), model=model, stop=None, cancel=cancel, price=price, settings=QUICK)
    assert time.monotonic() - began < 1
    assert state.reason == "user pressed Stop"
    (lost,) = state.lost
    assert lost.usage.estimated
    assert state.cost_usd == price.cost(lost.usage) > 0
    assert state.request is None


def test_stop_while_an_approval_is_pending_answers_the_call(ledger: Ledger) -> None:
    tools = [ledger.write(needs_approval=True)]
    model = ScriptedModel([calls(("a", "write", {"x": 1}))])
    state = run(start(), model=model, tools=tools, stop=None)
    cancel = Cancel()
    cancel.set("user pressed Stop")
    state = run(state, model=model, tools=tools, stop=None, cancel=cancel)
    assert (state.reason, outcomes(state)) == ("user pressed Stop", [("a", "not_started")])
    assert (ledger.done, len(model.requests)) == ([], 1)


def test_the_task_that_runs_the_loop_may_be_cancelled_too(ledger: Ledger) -> None:
    variants, trace = Variants(ledger), ListTrace()
    state = start()
    model = ScriptedModel([calls(("a", "slow_write", {"s": 1}))])

    async def cancelled_from_outside() -> None:
        running = asyncio.ensure_future(
            arun(state, model=model, tools=[variants.asynchronous()], stop=None, trace=trace)
        )
        while not variants.started.is_set():
            await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(cancelled_from_outside())
    assert (state.status, problems(state.messages), ledger.done) == ("interrupted", [], [])
    assert sum(isinstance(e, RunStopped) for e in trace.events) == 1


def test_ctrl_c_ends_the_run_as_cancelled_and_is_then_raised(ledger: Ledger) -> None:
    state = start()

    @tool
    def interrupt(ctx: ToolContext) -> str:
        """Press Ctrl-C."""
        os.kill(os.getpid(), signal.SIGINT)
        ctx.cancel.wait_sync(10)
        ctx.check()
        return "not reached"

    model = ScriptedModel([calls(("a", "interrupt", {}))])
    with pytest.raises(KeyboardInterrupt):
        run(state, model=model, tools=[interrupt], stop=None, settings=QUICK)
    assert (state.status, state.reason) == ("interrupted", "keyboard interrupt")
    assert outcomes(state) == [("a", "cancelled")]
