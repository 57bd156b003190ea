"""The strict table, cell by cell: in each dialect a transcript that it refuses, and a legal one.

Legal transcripts are the neighbours of the refused ones: the same, but for what is wrong.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from fakeprovider.conversation import NOWHERE, Conversation
from fakeprovider.errors import ApiError
from fakeprovider.fitting.demands import Choice
from fakeprovider.parsing.caches import RequestCaches
from fakeprovider.protocols.chat.dialect import CHAT
from fakeprovider.protocols.dialect import DIALECTS, Dialect
from fakeprovider.protocols.messages.dialect import MESSAGES
from fakeprovider.protocols.responses.dialect import RESPONSES

USER: Any = {"role": "user", "content": "go"}


def call(call_id: str = "a", name: str = "f", arguments: str = "{}") -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def asks(*calls: dict[str, Any], **rest: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(calls), **rest}


def answers(call_id: str = "a") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "r"}


def use(call_id: str = "a", name: str = "f", given: Any = None) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": given or {}}


def says(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def result(call_id: str = "a") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": "r"}


def told(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def text(words: str = "t") -> dict[str, Any]:
    return {"type": "text", "text": words}


def item(call_id: str = "a", name: str = "f", arguments: str = "{}") -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}


def output(call_id: str = "a") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": "r"}


def parse(dialect: Dialect, transcript: list[Any], **rest: Any) -> Conversation:
    names = {"f", "f" * 64, "f" * 128}
    tools: Any
    if dialect is CHAT:
        tools = [{"type": "function", "function": {"name": name}} for name in names]
        body = {"messages": transcript, "tools": [one for one in tools if _short(one["function"])]}
    elif dialect is MESSAGES:
        tools = [{"name": name, "input_schema": {}} for name in names]
        body = {"messages": transcript, "tools": tools, "max_tokens": 9}
    else:
        tools = [{"type": "function", "name": name} for name in names]
        body = {"input": transcript, "tools": [one for one in tools if _short(one)]}
    return dialect.parse(json.dumps({"model": "m", **body, **rest}).encode(), RequestCaches())


def _short(tool: Any) -> bool:
    return len(tool["name"]) <= 64


def refusals(dialect: Dialect, transcript: list[Any]) -> list[tuple[str, int]]:
    return [(one.rule, one.index) for one in parse(dialect, transcript).violations]


REFUSED: list[tuple[Any, str, int, list[Any]]] = [
    # A call without a result before the next message, or at the end.
    (CHAT, "unanswered_call", 1, [USER, asks(call()), USER]),
    (CHAT, "unanswered_call", 1, [USER, asks(call("a"), call("b")), answers("a"), USER]),
    (CHAT, "unanswered_call", 1, [USER, asks(call())]),
    (MESSAGES, "unanswered_call", 1, [USER, says(use()), told(text())]),
    (MESSAGES, "unanswered_call", 1, [USER, says(use("a"), use("b")), told(result("a"))]),
    (MESSAGES, "unanswered_call", 1, [USER, says(use())]),
    (RESPONSES, "unanswered_call", 1, [USER, item(), USER]),
    (RESPONSES, "unanswered_call", 1, [USER, item()]),
    # A result without a call, or for a call of an earlier turn.
    (CHAT, "orphan_result", 1, [USER, answers()]),
    (MESSAGES, "orphan_result", 0, [told(result())]),
    (
        MESSAGES,
        "orphan_result",
        4,
        [USER, says(use()), told(result()), says(text()), told(result())],
    ),
    (RESPONSES, "orphan_result", 1, [USER, output()]),
    # Two results for one call.
    (CHAT, "second_result", 3, [USER, asks(call()), answers(), answers()]),
    (MESSAGES, "second_result", 2, [USER, says(use()), told(result(), result())]),
    (RESPONSES, "second_result", 3, [USER, item(), output(), output()]),
    # Two calls with one id in one turn.
    (CHAT, "twice_in_turn", 1, [USER, asks(call(), call()), answers()]),
    (MESSAGES, "twice_in_turn", 1, [USER, says(use(), use()), told(result())]),
    (RESPONSES, "twice_in_turn", 2, [USER, item(), item(), output()]),
    # One id again in a later turn.
    (MESSAGES, "id_again", 3, [USER, says(use()), told(result()), says(use()), told(result())]),
    # Results that do not come first, or not in the next user message.
    (MESSAGES, "result_not_first", 2, [USER, says(use()), told(text(), result())]),
    (MESSAGES, "unanswered_call", 1, [USER, says(use()), told(text()), told(result())]),
    # An assistant message without content.
    (CHAT, "null_content", 1, [USER, {"role": "assistant", "content": None}]),
    (CHAT, "null_content", 1, [USER, {"role": "assistant"}]),
    (MESSAGES, "null_content", 1, [USER, {"role": "assistant", "content": None}, USER]),
    (MESSAGES, "empty_content", 1, [USER, {"role": "assistant", "content": ""}, USER]),
    (MESSAGES, "empty_content", 1, [USER, says(), USER]),
    # An empty text block.
    (MESSAGES, "empty_text", 0, [told(text(""), text("x"))]),
    (MESSAGES, "empty_text", 1, [USER, says(text(""), use()), told(result())]),
    # An empty list of calls.
    (CHAT, "empty_tool_calls", 1, [USER, {"role": "assistant", "content": "x", "tool_calls": []}]),
    # An input that is no object.
    (MESSAGES, "arguments_not_json", 1, [USER, says(use(given="{")), told(result())]),
    (MESSAGES, "arguments_not_json", 1, [USER, says(use(given=["x"])), told(result())]),
    # Ids that are too long or have other characters.
    (CHAT, "call_id_too_long", 1, [USER, asks(call("x" * 41)), answers("x" * 41)]),
    (MESSAGES, "call_id_characters", 1, [USER, says(use("a.b")), told(result("a.b"))]),
    (RESPONSES, "call_id_too_long", 1, [USER, item("x" * 65), output("x" * 65)]),
    # Names of tools.
    (CHAT, "tool_name", 1, [USER, asks(call(name="a.b")), answers()]),
    (CHAT, "tool_name", 1, [USER, asks(call(name="f" * 65)), answers()]),
    (MESSAGES, "tool_name", 1, [USER, says(use(name="a b")), told(result())]),
    (MESSAGES, "tool_name", 1, [USER, says(use(name="f" * 129)), told(result())]),
    (RESPONSES, "tool_name", 1, [USER, item(name="a.b"), output()]),
    (RESPONSES, "tool_name", 1, [USER, item(name="f" * 65), output()]),
    # Thinking that did not come back as it went out.
    (
        MESSAGES,
        "thinking_signature",
        1,
        [USER, says({"type": "thinking", "thinking": "x"}, text())],
    ),
]

LEGAL: list[tuple[Any, str, list[Any]]] = [
    (CHAT, "", [USER, asks(call("a"), call("b")), answers("a"), answers("b"), USER]),
    (MESSAGES, "", [USER, says(use("a"), use("b")), told(result("a"), result("b"))]),
    (RESPONSES, "", [USER, item("a"), item("b"), output("a"), output("b"), USER]),
    # One id again in a later turn.
    (CHAT, "", [USER, asks(call()), answers(), asks(call()), answers()]),
    (RESPONSES, "", [USER, item(), output(), item(), output()]),
    # Results in another order than the calls.
    (CHAT, "", [USER, asks(call("a"), call("b")), answers("b"), answers("a")]),
    (MESSAGES, "", [USER, says(use("a"), use("b")), told(result("b"), result("a"))]),
    (RESPONSES, "", [USER, item("a"), item("b"), output("b"), output("a")]),
    # Text after the results; results spread over merged user messages.
    (MESSAGES, "", [USER, says(use()), told(result(), text())]),
    (MESSAGES, "", [USER, says(use("a"), use("b")), told(result("a")), told(result("b"))]),
    # System or developer in the middle.
    (
        CHAT,
        "",
        [USER, {"role": "system", "content": "s"}, {"role": "developer", "content": "s"}, USER],
    ),
    (MESSAGES, "system_in_middle", [USER, {"role": "system", "content": "s"}, USER]),
    (MESSAGES, "system_in_middle", [USER, {"role": "developer", "content": "s"}, USER]),
    (RESPONSES, "", [USER, {"role": "developer", "content": "s"}, USER]),
    # Consecutive user messages.
    (CHAT, "", [USER, USER]),
    (MESSAGES, "", [USER, USER]),
    (RESPONSES, "", [USER, USER]),
    # No content.
    (MESSAGES, "", [USER, {"role": "assistant", "content": None}]),
    (MESSAGES, "", [USER, {"role": "assistant", "content": ""}]),
    (CHAT, "", [USER, {"role": "assistant", "content": ""}, USER]),
    (CHAT, "", [USER, {"role": "assistant", "content": None, "refusal": "no"}, USER]),
    (RESPONSES, "", [USER, {"role": "assistant", "content": ""}, USER]),
    (RESPONSES, "", [USER, {"role": "assistant", "content": None}, USER]),
    (CHAT, "", [USER, asks(call(), content=None), answers()]),
    (CHAT, "", [USER, asks(call(), content=""), answers()]),
    (MESSAGES, "", [USER, says(text("\n\n"), use()), told({**result(), "content": ""})]),
    # A call of a tool that is not offered now.
    (CHAT, "not_offered", [USER, asks(call(name="g")), answers()]),
    (MESSAGES, "not_offered", [USER, says(use(name="g")), told(result())]),
    (RESPONSES, "not_offered", [USER, item(name="g"), output()]),
    # Arguments that are not JSON.
    (CHAT, "arguments_not_json", [USER, asks(call(arguments='{"a')), answers()]),
    (RESPONSES, "arguments_not_json", [USER, item(arguments='{"a'), output()]),
    # Ids and names at their limits.
    (CHAT, "", [USER, asks(call("x" * 40)), answers("x" * 40)]),
    (CHAT, "", [USER, asks(call("a.b|c")), answers("a.b|c")]),
    (MESSAGES, "", [USER, says(use("x-Y_9" * 20)), told(result("x-Y_9" * 20))]),
    (RESPONSES, "", [USER, item("x" * 64), output("x" * 64)]),
    (CHAT, "", [USER, asks(call(name="f" * 64)), answers()]),
    (MESSAGES, "", [USER, says(use(name="f" * 128)), told(result())]),
    (RESPONSES, "", [USER, item(name="f" * 64), output()]),
    # Thinking that another service signed.
    (
        MESSAGES,
        "foreign_signature",
        [USER, says({"type": "thinking", "thinking": "x", "signature": "Eq0"}, text()), USER],
    ),
]


def label(value: Any) -> str | None:
    return value.name if isinstance(value, Dialect) else value if isinstance(value, str) else None


@pytest.mark.parametrize(("dialect", "rule", "index", "transcript"), REFUSED, ids=label)
def test_what_the_service_refuses_is_refused_with_the_index_of_the_message(
    dialect: Dialect, rule: str, index: int, transcript: list[Any]
) -> None:
    found = parse(dialect, transcript).violations
    assert (found[0].rule, found[0].index) == (rule, index)
    error = dialect.refuse(found[0])
    assert error.status == 400
    shown = json.loads(dialect.render_error(error))["error"]
    assert shown["type"] == "invalid_request_error"
    place = {"chat": f"messages[{index}]", "messages": f"messages.{index}: "}
    assert place.get(dialect.name, f"input[{index}]") in shown["message"]


@pytest.mark.parametrize(("dialect", "note", "transcript"), LEGAL, ids=label)
def test_what_the_service_takes_is_taken_and_noted_where_it_is_odd(
    dialect: Dialect, note: str, transcript: list[Any]
) -> None:
    found = parse(dialect, transcript)
    assert found.violations == ()
    assert [one.rule for one in found.notes] == ([note] if note else [])


# Beside the messages

MARK = {"cache_control": {"type": "ephemeral"}}


def functions(*names: str) -> list[dict[str, Any]]:
    return [{"type": "function", "function": {"name": name}} for name in names]


def tools(*names: str, **more: Any) -> list[dict[str, Any]]:
    return [{"name": name, "input_schema": {}, **more} for name in names]


def flat(*names: str) -> list[dict[str, Any]]:
    return [{"type": "function", "name": name} for name in names]


def marked(count: int, **more: Any) -> dict[str, Any]:
    return {"system": [{**text(), **MARK}] * count, **more}


def thinks(budget: int, limit: int, **more: Any) -> dict[str, Any]:
    return {"thinking": {"type": "enabled", "budget_tokens": budget}, "max_tokens": limit, **more}


BAD_REQUESTS: list[tuple[Any, str, str, dict[str, Any]]] = [
    (MESSAGES, "tool_twice", "tools", {"tools": tools("f", "g", "f")}),
    (MESSAGES, "cache_marks", "cache_control", marked(5)),
    (MESSAGES, "cache_marks", "cache_control", marked(4, **MARK)),
    (MESSAGES, "cache_marks", "cache_control", marked(3, tools=tools("f", "g", **MARK))),
    (
        MESSAGES,
        "cache_marks",
        "cache_control",
        marked(
            3,
            messages=[
                told({**text(), **MARK}),
                says(use()),
                told({**result(), "content": [{**text(), **MARK}]}),
            ],
        ),
    ),
    (MESSAGES, "budget_too_small", "thinking.budget_tokens", thinks(1023, 2000)),
    (MESSAGES, "budget_over_max", "thinking.budget_tokens", thinks(2000, 2000, tools=[])),
]
GOOD_REQUESTS: list[tuple[Any, str, dict[str, Any]]] = [
    (CHAT, "tool_twice", {"tools": functions("f", "g", "f")}),
    (RESPONSES, "tool_twice", {"tools": flat("f", "g", "f")}),
    (CHAT, "", {"tools": functions("f", "g")}),
    (MESSAGES, "", {"tools": tools("f", "g")}),
    (RESPONSES, "", {"tools": flat("f", "g")}),
    (MESSAGES, "", marked(4)),
    (MESSAGES, "", marked(3, **MARK)),
    (MESSAGES, "", marked(4, cache_control=None)),
    # The word is also one of a schema, and of what was said.
    (
        MESSAGES,
        "",
        marked(
            4,
            tools=[*tools("f"), {"name": "g", "input_schema": {"properties": MARK}}],
            messages=[told(text("cache_control"), text('{"cache_control": 1}'))],
        ),
    ),
    (MESSAGES, "", thinks(1024, 1025, tools=[])),
    (MESSAGES, "budget_over_max_with_tools", thinks(2000, 2000)),
    (MESSAGES, "", {"thinking": {"type": "disabled", "budget_tokens": 1}}),
    (MESSAGES, "", {"thinking": {"type": "adaptive"}}),
]


@pytest.mark.parametrize(("dialect", "rule", "where", "rest"), BAD_REQUESTS, ids=label)
def test_what_is_wrong_beside_the_messages_is_refused_with_the_path_of_the_field(
    dialect: Dialect, rule: str, where: str, rest: dict[str, Any]
) -> None:
    found = parse(dialect, [USER], **rest).violations
    assert [(one.rule, one.index) for one in found] == [(rule, NOWHERE)]
    error = dialect.refuse(found[0])
    shown = json.loads(dialect.render_error(error))["error"]
    assert (error.status, shown["type"]) == (400, "invalid_request_error")
    assert shown["message"].startswith(f"{where}: ")


@pytest.mark.parametrize(("dialect", "note", "rest"), GOOD_REQUESTS, ids=label)
def test_what_is_right_beside_the_messages_is_taken(
    dialect: Dialect, note: str, rest: dict[str, Any]
) -> None:
    found = parse(dialect, [USER], **rest)
    assert found.violations == ()
    assert [one.rule for one in found.notes] == ([note] if note else [])


@pytest.mark.parametrize(
    ("dialect", "named"),
    [
        (CHAT, {"type": "function", "function": {"name": "h"}}),
        (MESSAGES, {"type": "tool", "name": "h"}),
        (RESPONSES, {"type": "function", "name": "h"}),
    ],
    ids=label,
)
def test_a_choice_of_a_tool_that_is_not_offered_is_a_400(dialect: Dialect, named: Any) -> None:
    """anthropic: langchain-ai/langchainjs#8928; openai: vllm-project/vllm#40399."""
    with pytest.raises(ApiError, match="'h' not found among the tools offered") as refused:
        parse(dialect, [USER], tool_choice=named)
    assert refused.value.status == 400


def test_a_choice_of_a_tool_that_the_service_runs_is_none_of_the_scripts() -> None:
    """It is offered, though not to be called by name here."""
    search = {"type": "web_search_20250305", "name": "web_search"}
    named = {"type": "tool", "name": "web_search"}
    found = parse(MESSAGES, [USER], tools=[*tools("f"), search], tool_choice=named)
    assert [one.name for one in found.tools] == ["f"]
    assert found.options["choice"] == Choice("auto")


def test_every_refusal_of_the_table_has_a_transcript_here() -> None:
    cells = {(rule, name) for name, dialect in DIALECTS.items() for rule in dialect.refused}
    shown = {(rule, dialect.name) for dialect, rule, _, _ in (*REFUSED, *BAD_REQUESTS)}
    assert cells == shown


def test_every_note_of_the_table_has_a_transcript_here() -> None:
    cells = {(rule, name) for name, dialect in DIALECTS.items() for rule in dialect.noted}
    shown = {(note, dialect.name) for dialect, note, _ in (*LEGAL, *GOOD_REQUESTS) if note}
    assert cells == shown


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=label)
@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b'{"a": "\xff"}', "not UTF-8"),
        (b'{"model": "m"', "not JSON"),
        (b"", "empty"),
        (b'{"x": "\\ud800"}', "lone surrogate"),
        (b'{"x": ' + b"[" * 50_000, "nested too deeply"),
    ],
)
def test_a_body_that_cannot_be_read_is_a_400_that_says_why(
    dialect: Dialect, body: bytes, why: str
) -> None:
    with pytest.raises(ApiError) as raised:
        dialect.parse(body, RequestCaches())
    shown = json.loads(dialect.render_error(raised.value))["error"]
    assert raised.value.status == 400
    assert shown["type"] == "invalid_request_error"
    assert why in shown["message"]
