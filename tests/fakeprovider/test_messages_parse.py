"""Anthropic Messages: what a request becomes, whatever shape its client gave it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fakeprovider.conversation import Conversation, Message
from fakeprovider.errors import ApiError
from fakeprovider.parsing.caches import RequestCaches
from fakeprovider.protocols.messages.dialect import MESSAGES, count_tokens

USE = {"type": "tool_use", "id": "fake0", "name": "list_files", "input": {}}


def parse(conversation: list[Any], **rest: Any) -> Conversation:
    body = {"model": "m", "max_tokens": 100, "messages": conversation, **rest}
    return MESSAGES.parse(json.dumps(body).encode(), RequestCaches())


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def assistant(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def result(call_id: str = "fake0", **rest: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, **rest}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


@pytest.mark.parametrize(
    "system",
    ["Be brief.", [text("Be brief.")], [{**text("Be brief."), "cache_control": {"type": "x"}}]],
)
def test_system_is_a_string_or_a_list_of_blocks(system: Any) -> None:
    found = parse([user("hi")], system=system)
    assert found.messages == (Message("system", "Be brief."), Message("user", "hi"))
    assert found.prompt_tokens == parse([user("hi")], system="Be brief.").prompt_tokens


def test_several_results_in_one_user_message_are_several_tool_messages() -> None:
    second = {**USE, "id": "fake0p1", "name": "read_file", "input": {"path": "a"}}
    found = parse(
        [
            user("go"),
            assistant(text("Let me look."), USE, second),
            user([result(content="[]"), result("fake0p1", content=[text("one"), text("two")])]),
        ]
    )
    assert [(one.tool, one.text, one.call_id) for one in found.results] == [
        ("list_files", "[]", "fake0"),
        ("read_file", "one\ntwo", "fake0p1"),
    ]
    assert found.messages[1].text == "Let me look."
    assert found.messages[1].calls[1].arguments == '{"path":"a"}'
    assert found.turn == 1
    assert not found.violations


def test_is_error_and_missing_content_of_a_result() -> None:
    found = parse([user("go"), assistant(USE), user([result(is_error=True)])])
    assert found.last_result is not None
    assert found.last_result.is_error
    assert found.last_result.text == ""


def test_text_after_results_does_not_open_a_user_turn() -> None:
    """What stands beside results is no new task."""
    found = parse([user("go"), assistant(USE), user([result(content="r"), text("go on")])])
    assert found.since_last_user == 1
    assert found.user_messages == ("go",)
    assert found.messages[-1] == Message("user", "go on", beside_results=True)
    assert [one.text for one in found.results] == ["r"]
    assert not found.violations


def test_images_and_documents_count_and_unknown_blocks_are_ignored() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}}
    plain = parse([user([text("look")])])
    found = parse([user([text("look"), image, {"type": "brand_new", "x": {}}])])
    assert found.messages[0].images == 1
    assert found.prompt_tokens == plain.prompt_tokens + 85


def test_consecutive_user_messages_and_a_system_message_in_the_middle_are_accepted() -> None:
    found = parse([user("a"), user("b"), {"role": "system", "content": "c"}, user("d")])
    assert found.user_messages == ("a", "b", "d")
    assert not found.violations
    assert [note.rule for note in found.notes] == ["system_in_middle"]


def test_content_sent_back_after_a_pause_goes_on_with_the_next_turn() -> None:
    paused = parse([user("go"), assistant(text("Searching."))])
    assert paused.turn == 1
    twice = parse([user("go"), assistant(text("Searching.")), assistant(text("Still."))])
    assert twice.turn == 2
    assert twice.since_last_user == 2


def test_only_tools_that_the_client_runs_are_offered() -> None:
    tools = [
        {"name": "list_files", "description": "d", "input_schema": {"type": "object"}},
        {"type": "bash_20250124", "name": "bash"},
        {"type": "web_search_20250305", "name": "web_search"},
        {"type": "mcp_toolset", "mcp_server_name": "x"},
    ]
    found = parse([user("go")], tools=tools)
    assert [tool.name for tool in found.tools] == ["list_files", "bash"]
    assert found.tools[0].parameters == {"type": "object"}


def test_tool_choice_none_takes_the_tools_away_and_a_named_one_the_others() -> None:
    tools = [{"name": name, "input_schema": {}} for name in ("a", "b")]
    assert parse([user("go")], tools=tools, tool_choice={"type": "none"}).tools == ()
    named = parse([user("go")], tools=tools, tool_choice={"type": "tool", "name": "b"})
    assert [tool.name for tool in named.tools] == ["b"]
    assert named.prompt_tokens == parse([user("go")], tools=tools).prompt_tokens


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "max_tokens: Field required"),
        ({"max_tokens": 0}, "max_tokens: Input should be greater than or equal to 1."),
        ({"max_tokens": 1, "messages": []}, "messages: at least one message is required"),
        ({"max_tokens": 1, "messages": [user("")]}, "messages.0: a user message needs content."),
        (
            {"max_tokens": 1, "messages": [{"role": "banana", "content": "x"}]},
            "messages.0.role: 'banana' is no role; it is one of user, assistant and system.",
        ),
        (
            {"max_tokens": 1, "messages": [user("x"), user([{"text": "x"}])]},
            "messages.1.content.0.type: Field required",
        ),
        (
            {"max_tokens": 1, "messages": [user("x"), assistant({**USE, "input": None})]},
            "messages.1.content.0.tool_use: the input of call 'fake0' is not an object",
        ),
        (
            {"max_tokens": 1, "messages": [user([{"type": "tool_result"}])]},
            "messages.0.content.0.tool_result.tool_use_id: Field required",
        ),
        (
            {"max_tokens": 1, "messages": [{"role": "user", "content": 3}]},
            "messages.0.content: expected string | array | null, got integer.",
        ),
    ],
)
def test_an_error_begins_with_the_path_of_the_field(body: dict[str, Any], message: str) -> None:
    whole = {"model": "m", "messages": [user("hi")], **body}
    try:
        found = MESSAGES.parse(json.dumps(whole).encode(), RequestCaches())
        error = MESSAGES.refuse(found.violations[0])
        message = message.replace("messages.1.content.0.tool_use:", "messages.1:")
    except ApiError as raised:
        error = raised
    shown = json.loads(MESSAGES.render_error(error))
    assert error.status == 400
    assert shown["type"] == "error"
    assert shown["error"] == {"type": "invalid_request_error", "message": message}


def test_threads_are_refused_so_that_the_sdk_sends_the_whole_history() -> None:
    with pytest.raises(ApiError) as raised:
        parse([user("hi")], thread={"type": "create"})
    shown = json.loads(MESSAGES.render_error(raised.value))
    assert raised.value.status == 400
    assert shown["error"]["details"] == {
        "error_code": "thread_unsupported_request",
        "unsupported": ["thread"],
    }


def test_count_tokens_gives_the_figure_that_messages_reports() -> None:
    """System and tools are in it."""
    tools = [{"name": "list_files", "input_schema": {"type": "object", "properties": {}}}]
    asked = {"model": "m", "messages": [user("hi")], "system": "Be brief.", "tools": tools}
    found, body = count_tokens(json.dumps(asked).encode(), RequestCaches())
    spent = parse(asked["messages"], system=asked["system"], tools=tools).prompt_tokens
    assert json.loads(body) == {"input_tokens": spent}
    assert found.prompt_tokens == spent
    bare, _ = count_tokens(
        json.dumps({"model": "m", "messages": [user("hi")]}).encode(), RequestCaches()
    )
    assert bare.prompt_tokens < spent
