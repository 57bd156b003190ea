"""Tool errors: the policies, and public reports about calls that cannot be run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from effects_ledger import Ledger

from fakeprovider_harness import (
    FatalToolError,
    ListTrace,
    MaxTurns,
    PermanentToolError,
    Price,
    RunState,
    Settings,
    Status,
    Tool,
    ToolError,
    ToolResult,
    run,
    tool,
)
from fakeprovider_harness.models.scripted import ScriptedModel, calls, problems, says
from fakeprovider_harness.trace import ApprovalRequired, ToolStart

HINT = "no such file: timeout.log. Call list_files to see what exists."


def start() -> RunState:
    return RunState.start("task", run_id="r")


def failing(error: BaseException) -> Tool:
    def boom() -> str:
        raise error

    return Tool("boom", "Fail.", {"type": "object", "properties": {}}, boom)


def results(state: RunState) -> list[str | None]:
    return [m.content for m in state.messages if m.role == "tool"]


def outcomes(state: RunState) -> list[str | None]:
    return [m.outcome for m in state.messages if m.role == "tool"]


def once(tools: list[Tool], **switches: Any) -> RunState:
    model = ScriptedModel([calls(("a", "boom", {})), says("done")])
    return run(start(), model=model, tools=tools, stop=MaxTurns(9), settings=Settings(**switches))


def test_instructive_gives_the_model_the_tools_own_sentence() -> None:
    state = once([failing(ToolError(HINT))])
    assert results(state) == [f"Error: {HINT}"]
    assert (outcomes(state), state.tool_runs, state.status) == (["error"], 1, Status.COMPLETED)


def test_instructive_names_an_exception_that_nobody_worded() -> None:
    assert results(once([failing(KeyError("x"))])) == ["Error: KeyError: 'x'"]


def test_opaque_says_that_it_failed_and_not_what() -> None:
    assert results(once([failing(ToolError(HINT))], errors="opaque")) == ["Error: the tool failed."]


def circular() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["a"] = value
    return value


@pytest.mark.parametrize(
    "value",
    [object(), circular(), {(1, 2): 3}, ToolResult(5), ToolResult("x", "fine")],  # type: ignore[arg-type]
    ids=["object", "circular", "keys", "text", "outcome"],
)
def test_a_result_that_cannot_be_sent_is_an_error_that_says_what_can(value: Any) -> None:
    """Neither an exception out of the run, nor an address in memory that counts as a success."""
    boom = Tool("boom", "Odd.", {"type": "object", "properties": {}}, lambda: value)
    state = once([boom])
    (text,) = results(state)
    assert (outcomes(state), state.status) == (["error"], Status.COMPLETED)
    assert text is not None
    assert text.startswith(
        f"Error: the tool was run, but its result, of type {type(value).__name__}"
    )
    assert text.endswith("A tool returns text, a ToolResult, None, or what JSON can hold.")
    assert "0x" not in text


def test_a_function_words_the_error() -> None:
    state = once([failing(ToolError("x"))], errors=lambda error: f"<{type(error).__name__}>")
    assert results(state) == ["<ToolError>"]


@pytest.mark.parametrize(
    ("error", "switches"),
    [
        (ToolError("x"), {"errors": "fatal"}),
        (FatalToolError("x"), {}),
        (FatalToolError("x"), {"errors": "opaque"}),
        (PermanentToolError("x"), {"permanent": "stop"}),
    ],
)
def test_a_fatal_error_fails_the_run_and_says_which_tool(
    error: Exception, switches: dict[str, Any]
) -> None:
    state = once([failing(error)], **switches)
    assert (state.status, state.reason) == (Status.FAILED, "fatal_tool_error")
    assert state.stop is not None
    assert state.stop.evidence == {"tool": "boom", "error": "Error: x"}
    assert (len(state.turns), problems(state.messages)) == (1, [])


def test_permanent_errors_are_told_apart_only_if_asked_to() -> None:
    error = PermanentToolError("permission denied: /etc/shadow")
    plain = once([failing(error)])
    assert results(plain) == ["Error: permission denied: /etc/shadow"]
    (told,) = results(once([failing(error)], permanent="tell"))
    assert told == "Error: permission denied: /etc/shadow. This is permanent: do not retry."


def test_an_exit_in_a_tool_is_an_error_of_the_tool() -> None:
    assert results(once([failing(SystemExit(3))])) == ["Error: SystemExit: 3"]


def test_stop_iteration_from_a_tool_is_an_error_like_any_other() -> None:
    assert results(once([failing(StopIteration())])) == ["Error: StopIteration: "]


@pytest.mark.parametrize(
    ("value", "text", "outcome"),
    [
        ("as it is\n", "as it is\n", "ok"),
        (["a", "b"], '["a","b"]', "ok"),
        ({"é": 1}, '{"é":1}', "ok"),
        (None, "(no output)", "ok"),
        ("\ud83d", "\ufffd", "ok"),
        ({"k": "\ud83d"}, '{"k":"\ufffd"}', "ok"),
        (ToolResult("half", "unknown"), "half", "unknown"),
    ],
)
def test_what_a_tool_returns_becomes_text(value: Any, text: str, outcome: str) -> None:
    returning = Tool("boom", "", {"type": "object"}, lambda: value)
    state = once([returning])
    assert (results(state), outcomes(state)) == ([text], [outcome])
    assert RunState.from_json(state.to_json()) == state


@pytest.mark.parametrize("errors", ["instructive", "fatal"])
def test_a_failing_sibling_loses_nobodys_result(
    ledger: Ledger, check: Callable[..., None], price: Price, errors: Any
) -> None:
    wanted = [("a", "write", {"x": 1}), ("b", "boom", {}), ("c", "write", {"x": 3})]
    model, trace = ScriptedModel([calls(*wanted), says("done")]), ListTrace()
    tools = [ledger.write(), failing(ToolError("no"))]
    state = run(
        start(),
        model=model,
        tools=tools,
        stop=MaxTurns(5),
        trace=trace,
        price=price,
        settings=Settings(errors=errors),
    )
    check(state, model, trace)
    assert [m.call_id for m in state.messages if m.role == "tool"] == ["a", "b", "c"]
    if errors == "fatal":
        assert outcomes(state) == ["ok", "error", "not_started"]
        assert (state.reason, len(model.requests), ledger.done) == ("fatal_tool_error", 1, [1])
    else:
        assert outcomes(state) == ["ok", "error", "ok"]
        assert (state.status, len(model.requests), ledger.done) == (Status.COMPLETED, 2, [1, 3])


@tool(needs_approval=True)
def search(q: str) -> str:
    """Search."""
    return f"found {q}"


@tool(needs_approval=True)
def edit(files: list[dict[str, int]]) -> str:
    """Edit files."""
    return "edited"


def test_what_cannot_be_run_is_answered_in_words_and_nobody_is_asked() -> None:
    wanted = [
        ("a", "serch", {}),
        ("b", "search", '{"q": '),
        ("c", "edit", {"files": '[{"p":1}]'}),
        ("d", "search", {"q": 1}),
        ("e", "search", "[]"),
        ("f", "search", '{"q": NaN}'),
        ("g", "search", {"q": "x", "extra": 1}),
        ("h", "search", "[" * 100_000),
        ("i", "search", {}),
    ]
    trace = ListTrace()
    model = ScriptedModel([*(calls(w) for w in wanted), says("done")])
    state = run(start(), model=model, tools=[search, edit], stop=MaxTurns(20), trace=trace)
    assert state.status is Status.COMPLETED
    assert outcomes(state) == ["invalid_args"] * len(wanted)
    assert state.tool_runs == 0
    assert not any(isinstance(e, ToolStart | ApprovalRequired) for e in trace.events)
    a, b, c, d, e, f, g, h, i = (text or "" for text in results(state))
    assert a == (
        "Error: there is no tool called 'serch'. Did you mean search? "
        "Available tools: search, edit."
    )
    assert "not valid JSON" in b
    assert b.endswith('You sent: {"q": ')
    assert "$.files: '[{\"p\":1}]' is not of type 'array'" in c
    assert "$.q: 1 is not of type 'string'" in d
    assert "$: [] is not an object" in e
    assert "NaN is not JSON" in f
    assert "unexpected keyword argument 'extra'" in g
    assert "nested too deeply" in h
    assert "'q' is a required property" in i


def test_bad_arguments_for_ever_end_at_the_cap_with_nothing_run(
    check: Callable[..., None], price: Price
) -> None:
    model, trace = ScriptedModel(lambda n, _: calls((f"c{n}", "search", '{"q": '))), ListTrace()
    state = run(start(), model=model, tools=[search], stop=MaxTurns(6), trace=trace, price=price)
    assert (state.reason, state.tool_runs, len(model.requests)) == ("max_turns", 0, 6)
    check(state, model, trace)


def test_no_arguments_at_all_are_an_empty_object(ledger: Ledger) -> None:
    model = ScriptedModel([calls(("a", "read", "")), says("done")])
    state = run(start(), model=model, tools=[ledger.read], stop=MaxTurns(5))
    assert outcomes(state) == ["ok"]


# The schema of a signature


def test_a_signature_becomes_a_schema_and_arguments_become_its_types() -> None:
    from enum import Enum
    from typing import Annotated

    import msgspec

    class Color(Enum):
        RED = "red"

    class Point(msgspec.Struct):
        x: int

    seen: list[Any] = []

    def paint(color: Color, at: Point, width: Annotated[float, msgspec.Meta(gt=0)] = 1) -> str:
        """Paint."""
        seen.append((color, at, width))
        return "ok"

    paint.__annotations__.update(color=Color, at=Point)
    paint.__annotations__["width"] = Annotated[float, msgspec.Meta(gt=0)]
    painting = tool(paint)
    assert painting.parameters["required"] == ["color", "at"]
    assert set(painting.parameters["$defs"]) == {"Color", "Point"}
    good, bad = {"color": "red", "at": {"x": 1}}, {"color": "blue", "at": {"x": 1}}
    model = ScriptedModel([calls(("a", "paint", good), ("b", "paint", bad)), says("done")])
    state = run(start(), model=model, tools=[painting], stop=MaxTurns(5))
    assert outcomes(state) == ["ok", "invalid_args"]
    assert seen == [(Color.RED, Point(1), 1)]


def test_a_parameter_without_a_type_or_a_name_is_refused() -> None:
    def bare(x) -> str:  # type: ignore[no-untyped-def]
        return ""

    def loose(**rest: int) -> str:
        return ""

    with pytest.raises(TypeError, match="bare: annotate 'x'"):
        tool(bare)
    with pytest.raises(TypeError, match=r"loose: \*rest has no schema"):
        tool(loose)


# Dedupe


def twice(name: str, **declared: Any) -> ScriptedModel:
    return ScriptedModel(
        [calls(("a", name, {"x": 1})), calls(("b", name, '{ "x":1 }')), says("done")]
    )


@pytest.mark.parametrize(
    ("name", "dedupe", "runs"),
    [
        ("read", "off", 2),
        ("read", "read_only", 1),
        ("read", "all", 1),
        ("write", "off", 2),
        ("write", "read_only", 2),
        ("write", "all", 1),
    ],
)
def test_dedupe_saves_the_execution_and_answers_under_the_new_call(
    ledger: Ledger, name: str, dedupe: Any, runs: int
) -> None:
    model, tools = twice(name), [ledger.read, ledger.write()]
    state = run(
        start(), model=model, tools=tools, stop=MaxTurns(5), settings=Settings(dedupe=dedupe)
    )
    assert state.tool_runs == runs
    first, second = (m for m in state.messages if m.role == "tool")
    assert (first.content, second.call_id, second.outcome) == (second.content, "b", "ok")
    assert len(model.requests) == 3


def test_any_write_makes_cached_reads_stale_and_errors_are_never_cached(ledger: Ledger) -> None:
    failures: list[int] = []

    @tool(read_only=True)
    def shaky() -> str:
        """Fail."""
        failures.append(1)
        raise ToolError("no")

    model = ScriptedModel(
        [
            calls(("a", "read", {}), ("b", "write", {"x": 1}), ("c", "read", {})),
            calls(("d", "shaky", {}), ("e", "shaky", {}), ("f", "read", {})),
            says("done"),
        ]
    )
    state = run(
        start(),
        model=model,
        tools=[ledger.read, ledger.write(), shaky],
        stop=MaxTurns(5),
        settings=Settings(dedupe="read_only"),
    )
    assert state.tool_runs == 5
    assert len(failures) == 2


def test_the_cache_is_known_after_a_resume_and_polls_are_never_cached(ledger: Ledger) -> None:
    polls: list[int] = []

    @tool(read_only=True, polling=True)
    def poll() -> str:
        """Poll."""
        polls.append(1)
        return "running"

    script = [
        calls(("a", "read", {}), ("p", "poll", {})),
        calls(("b", "read", {}), ("q", "poll", {})),
        says("done"),
    ]
    tools, switches = [ledger.read, poll], Settings(dedupe="read_only")
    model = ScriptedModel(script)
    state = run(start(), model=model, tools=tools, stop=MaxTurns(2), settings=switches)
    state = RunState.from_json(state.to_json())
    state = run(state, model=model, tools=tools, stop=MaxTurns(5), settings=switches)
    assert (state.tool_runs, len(polls)) == (3, 2)
