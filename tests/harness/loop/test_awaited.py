"""A sync tool that returns something to await: it is awaited, under timeout and signal."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Any

import pytest

from fakeprovider_harness import (
    Cancel,
    FatalToolError,
    MaxTurns,
    RunState,
    Settings,
    Tool,
    run,
    tool,
)
from fakeprovider_harness.models.scripted import ScriptedModel, calls, says
from fakeprovider_harness.tooling.execution import Ended, Work, execute

WHO: ContextVar[str] = ContextVar("WHO", default="nobody")
NUMBER = {"type": "object", "properties": {"x": {"type": "integer"}}}


async def double(x: int) -> str:
    """Twice the number."""
    await asyncio.sleep(0)
    return f"{2 * x}"


class Doubler:
    """An object that is called."""

    async def __call__(self, x: int) -> str:
        """Twice the number."""
        return await double(x)


def outcome(made: Tool, **given: Any) -> tuple[str | None, str | None]:
    model = ScriptedModel([calls(("a", made.name, {"x": 21})), says("done")])
    state = run(RunState.start("t"), model=model, tools=[made], stop=MaxTurns(3), **given)
    return state.messages[-2].outcome, state.messages[-2].content


@pytest.mark.parametrize(
    "made",
    [
        tool(partial(double)),
        tool(name="double")(Doubler()),
        tool(name="double")(partial(Doubler())),
        tool(name="double", parameters=NUMBER)(lambda x: double(x=x)),
        tool(name="double", parameters=NUMBER)(lambda x: Doubler()(x=x)),
    ],
    ids=["partial", "object", "partial of an object", "lambda", "lambda around an object"],
)
def test_whatever_is_to_be_awaited_is_awaited(made: Tool) -> None:
    assert (made.name, outcome(made)) == ("double", ("ok", "42"))


def test_a_partial_is_described_as_the_function_that_it_completes() -> None:
    made = tool(partial(double, x=1))
    assert (made.name, made.description) == ("double", "Twice the number.")
    assert made.parameters == {"type": "object", "properties": {"x": {"type": "integer"}}}


@pytest.mark.parametrize("fn", [lambda: "x", Doubler()], ids=["lambda", "object"])
def test_what_has_no_name_of_its_own_is_to_be_given_one(fn: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match="has no name to call the tool by: give name="):
        tool(fn)


def test_its_exception_is_that_of_the_tool() -> None:
    async def fail(x: int) -> str:
        raise FatalToolError(f"no {x}")

    made = tool(name="fail", parameters=NUMBER)(lambda x: fail(x=x))
    model = ScriptedModel([calls(("a", "fail", {"x": 1}))])
    state = run(RunState.start("t"), model=model, tools=[made], stop=MaxTurns(3))
    assert (state.status, state.stop and state.stop.kind) == ("failed", "fatal_tool_error")


def test_a_timeout_cancels_it() -> None:
    ended: list[str] = []

    async def hang(x: int) -> str:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("ended")
        return "never"

    made = tool(name="hang", parameters=NUMBER, timeout=0.05)(lambda x: hang(x=x))
    assert outcome(made)[0] == "timeout"
    assert ended == ["ended"]


def test_it_runs_with_the_context_of_its_thread() -> None:
    async def who() -> str:
        return WHO.get()

    def sets(x: int) -> Any:
        WHO.set("the tool")
        return who()

    assert outcome(tool(name="who", parameters=NUMBER)(sets)) == ("ok", "the tool")
    assert WHO.get() == "nobody"


def test_what_a_thread_returns_once_it_was_given_up_is_never_begun() -> None:
    """And it is reported as an end that came late; nothing is left unawaited, which would warn."""
    go, begun, late = threading.Event(), [], threading.Event()

    async def effect() -> None:
        begun.append("effect")

    def slow() -> Any:
        go.wait(10)
        return effect()

    cancel = Cancel()
    cancel.set("user pressed Stop")
    execution = asyncio.run(
        execute(
            slow,
            {},
            cancel=cancel,
            timeout=None,
            grace=0.01,
            heeds=False,
            on_late=lambda ended: late.set(),
        )
    )
    go.set()
    assert late.wait(10)
    assert (execution.ended, begun) == (None, [])


def test_what_a_thread_returns_in_its_grace_is_never_begun() -> None:
    begun: list[str] = []

    async def effect() -> None:
        begun.append("effect")

    interrupted = threading.Event()

    def slow() -> Any:
        interrupted.wait(10)
        return effect()

    async def main() -> Any:
        cancel = Cancel()
        cancel.set("user pressed Stop")
        asyncio.get_running_loop().call_later(0.05, interrupted.set)
        return await execute(
            slow, {}, cancel=cancel, timeout=None, grace=10, heeds=False, on_late=print
        )

    execution = asyncio.run(main())
    assert isinstance(execution.ended.error, asyncio.CancelledError)
    assert (execution.told, begun) == ("user pressed Stop", [])


@pytest.mark.parametrize("given_up", [False, True])
def test_what_is_interrupted_before_its_first_step_ends_all_the_same(given_up: bool) -> None:
    """As cancelled, and late if it was given up; nothing is left unawaited, which would warn."""
    begun: list[str] = []
    late: list[Ended] = []

    async def effect() -> None:
        begun.append("effect")

    async def main() -> Work:
        work = Work(effect, {})
        if given_up:
            work.give_up(late.append)
        work.interrupt()
        for _ in range(3):
            await asyncio.sleep(0)
        return work

    ended = asyncio.run(main()).ended
    assert ended is not None
    assert isinstance(ended.error, asyncio.CancelledError)
    assert (begun, late) == ([], [ended] if given_up else [])


def test_settings_time_it_too() -> None:
    """The timeout of the run holds for a tool without its own."""
    made = tool(name="hang", parameters=NUMBER)(lambda x: asyncio.sleep(60))
    assert outcome(made, settings=Settings(tool_timeout=0.05))[0] == "timeout"


async def decides(arguments: dict[str, Any]) -> bool:
    return True


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ({"needs_approval": decides}, "needs_approval decides at once: no async function"),
        ({"denies": decides}, "denies decides at once: no async function"),
        ({"timeout": "1s"}, "timeout is a finite number, 0 or more, or None for no limit"),
        ({"retries": -1}, "retries is a whole number, 0 or more; not -1"),
        ({"max_polls": None}, "max_polls is a whole number, 1 or more; not None"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_tool_that_declares_what_cannot_be_meant_is_refused(
    declared: dict[str, Any], said: str
) -> None:
    with pytest.raises((TypeError, ValueError), match="tool 'double': ") as refused:
        Tool("double", "Twice.", NUMBER, double, **declared)
    assert said in str(refused.value)
