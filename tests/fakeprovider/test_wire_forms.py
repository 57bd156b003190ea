"""What real clients met on the wire, in its legal form, which is the default.

Byte by byte, in process: what a dialect renders is what goes out.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from fakeprovider.completion import complete
from fakeprovider.conversation import Conversation
from fakeprovider.parsing.caches import RequestCaches
from fakeprovider.protocols.chat.dialect import CHAT
from fakeprovider.protocols.dialect import Dialect
from fakeprovider.protocols.messages.dialect import MESSAGES
from fakeprovider.protocols.responses.dialect import RESPONSES
from fakeprovider.replies import ImpossibleReply, Reply, Text, Thinking, ToolCall, ask, call, say
from fakeprovider.server import Server

NAMES = ("get_weather", "get_time")
TWO = ask("get_weather", {"city": "Oslo"}, call("get_time", {"tz": "CET"}))
ASKED: dict[Dialect, dict[str, Any]] = {
    CHAT: {
        "messages": [{"role": "user", "content": "go"}],
        "tools": [{"type": "function", "function": {"name": name}} for name in NAMES],
    },
    MESSAGES: {
        "max_tokens": 1000,
        "messages": [{"role": "user", "content": "go"}],
        "tools": [{"name": name, "input_schema": {}} for name in NAMES],
    },
    RESPONSES: {"input": "go", "tools": [{"type": "function", "name": name} for name in NAMES]},
}


def parse(dialect: Dialect, **rest: Any) -> Conversation:
    body = {"model": "m", **ASKED[dialect], **rest}
    return dialect.parse(json.dumps(body).encode(), RequestCaches())


def stream(dialect: Dialect, reply: Reply, **rest: Any) -> bytes:
    found = parse(dialect, stream=True, **rest)
    return b"".join(frame.data for frame in dialect.render_stream(found, complete(found, reply)))


def whole(dialect: Dialect, reply: Reply, **rest: Any) -> dict[str, Any]:
    found = parse(dialect, **rest)
    return dict(json.loads(dialect.render_whole(found, complete(found, reply))))


def events(data: bytes) -> list[dict[str, Any]]:
    """The data of the events, each of which is one JSON object after `data: `."""
    found = []
    for event in data.decode().split("\n\n")[:-1]:
        *names, line = event.split("\n")
        assert line.startswith("data: ")
        if line != "data: [DONE]":
            found.append(json.loads(line[6:]))
            assert names in ([], [f"event: {found[-1].get('type')}"])
    return found


def deltas(data: bytes) -> list[dict[str, Any]]:
    return [
        fragment
        for event in events(data)
        for choice in event["choices"]
        for fragment in choice["delta"].get("tool_calls") or ()
    ]


def test_every_fragment_of_a_call_has_an_integer_index() -> None:
    found = deltas(stream(CHAT, TWO))
    assert {fragment["index"] for fragment in found} == {0, 1}
    assert all(type(fragment["index"]) is int for fragment in found)


def test_id_type_and_name_come_once_with_the_first_fragment_and_are_not_empty() -> None:
    first = [fragment for fragment in deltas(stream(CHAT, TWO)) if "id" in fragment]
    assert [one["id"] for one in first] == ["fake0", "fake0p1"]
    assert [one["function"]["name"] for one in first] == list(NAMES)
    assert all(one["type"] == "function" and one["function"]["arguments"] == "" for one in first)
    rest = [fragment for fragment in deltas(stream(CHAT, TWO)) if "id" not in fragment]
    assert all(set(one["function"]) == {"arguments"} for one in rest)


def test_fragments_of_parallel_calls_add_up_by_their_index_in_each_dialect() -> None:
    arguments = {0: "", 1: ""}
    for fragment in deltas(stream(CHAT, TWO)):
        arguments[fragment["index"]] += fragment["function"]["arguments"]
    assert arguments == {0: '{"city":"Oslo"}', 1: '{"tz":"CET"}'}
    inputs: dict[int, str] = {0: "", 1: ""}
    for event in events(stream(MESSAGES, TWO)):
        if event["type"] == "content_block_delta":
            inputs[event["index"]] += event["delta"]["partial_json"]
    assert inputs == arguments
    items: dict[int, str] = {0: "", 1: ""}
    for event in events(stream(RESPONSES, TWO)):
        if event["type"] == "response.function_call_arguments.delta":
            items[event["output_index"]] += event["delta"]
    assert items == arguments


def test_a_call_without_arguments_has_an_empty_object() -> None:
    reply = ask("get_time")
    assert whole(CHAT, reply)["choices"][0]["message"]["tool_calls"][0]["function"] == {
        "name": "get_time",
        "arguments": "{}",
    }
    assert whole(MESSAGES, reply)["content"][0]["input"] == {}
    assert whole(RESPONSES, reply)["output"][0]["arguments"] == "{}"
    parts = [
        event["delta"]["partial_json"]
        for event in events(stream(MESSAGES, reply))
        if event["type"] == "content_block_delta"
    ]
    assert parts[0] == ""
    assert "".join(parts) == "{}"


def test_usage_comes_only_if_asked_in_one_last_chunk_with_no_choices() -> None:
    plain = events(stream(CHAT, say("Hi")))
    assert not any("usage" in event for event in plain)
    assert all(event["choices"] for event in plain)
    asked = events(stream(CHAT, say("Hi"), stream_options={"include_usage": True}))
    assert asked[-1]["choices"] == []
    assert asked[-1]["usage"]["total_tokens"] == (
        asked[-1]["usage"]["prompt_tokens"] + asked[-1]["usage"]["completion_tokens"]
    )
    assert all(event["usage"] is None for event in asked[:-1])


def test_usage_in_a_stream_of_messages_is_a_running_total() -> None:
    found = events(stream(MESSAGES, say("Some more words.")))
    start, end = found[0]["message"]["usage"], found[-2]["usage"]
    assert found[-2]["type"] == "message_delta"
    assert end["input_tokens"] == start["input_tokens"] > 0
    assert end["output_tokens"] >= start["output_tokens"]
    assert (
        end["output_tokens"] == whole(MESSAGES, say("Some more words."))["usage"]["output_tokens"]
    )


@pytest.mark.parametrize(
    ("reply", "reason"),
    [(TWO, "tool_calls"), (say("Hello"), "stop"), (say("a", call("f")), "tool_calls")],
)
def test_the_finish_reason_agrees_with_the_calls_and_comes_once(reply: Reply, reason: str) -> None:
    found = events(stream(CHAT, reply))
    reasons = [choice["finish_reason"] for event in found for choice in event["choices"]]
    assert [one for one in reasons if one is not None] == [reason]
    assert reasons[-1] == reason
    message = whole(CHAT, reply)["choices"][0]["message"]
    assert ("tool_calls" in message) == (reason == "tool_calls")  # absent, never [] or null


def test_what_no_service_sends_is_refused_when_it_is_written_down() -> None:
    for blocks, finish in (((Text("x"),), "tool_calls"), (TWO.blocks, "stop")):
        with pytest.raises(ImpossibleReply):
            Reply(blocks, finish)  # type: ignore[arg-type]


@pytest.mark.parametrize("dialect", ASKED, ids=lambda one: one.name)
def test_a_reply_cut_at_the_cap_says_so_and_reports_exactly_the_cap(dialect: Dialect) -> None:
    reply = ask("get_weather", {"path": "a.txt", "content": "hello world " * 40})
    cap = {CHAT: "max_tokens", MESSAGES: "max_tokens", RESPONSES: "max_output_tokens"}[dialect]
    found = whole(dialect, reply, **{cap: 30})
    usage = found["usage"]
    assert usage.get("completion_tokens", usage.get("output_tokens")) == 30
    end = {
        CHAT: lambda: found["choices"][0]["finish_reason"],
        MESSAGES: lambda: found["stop_reason"],
        RESPONSES: lambda: found["incomplete_details"]["reason"],
    }[dialect]()
    assert end in ("length", "max_tokens", "max_output_tokens")


@pytest.mark.parametrize("dialect", ASKED, ids=lambda one: one.name)
def test_a_stream_is_data_events_with_line_feeds_and_no_comments(dialect: Dialect) -> None:
    data = stream(dialect, say("Hi", call("get_time")))
    assert b"\r" not in data
    assert not any(line.startswith((b":", b"id:", b"retry:")) for line in data.split(b"\n"))
    assert data.endswith(b"\n\n")
    assert events(data)


def test_a_chat_stream_ends_with_a_reason_and_done() -> None:
    data = stream(CHAT, say("Hi"))
    assert data.endswith(b"data: [DONE]\n\n")
    assert data.count(b"[DONE]") == 1
    assert events(data)[-1]["choices"][0]["finish_reason"] == "stop"


def test_messages_end_with_message_stop_and_responses_with_the_whole_response() -> None:
    assert [event["type"] for event in events(stream(MESSAGES, say("Hi")))][-2:] == [
        "message_delta",
        "message_stop",
    ]
    last = events(stream(RESPONSES, TWO))[-1]
    assert last["type"] == "response.completed"
    assert last["response"]["output"] == whole(RESPONSES, TWO)["output"]
    assert last["response"]["usage"]["total_tokens"] > 0
    assert b"[DONE]" not in stream(RESPONSES, TWO)


@pytest.mark.parametrize("stream_it", [False, True])
def test_an_error_before_the_stream_is_a_real_status_with_a_json_body(
    stream_it: bool,
) -> None:
    with Server("plan", api_key="right") as server:
        for path in ("chat/completions", "messages", "responses"):
            reply = httpx.post(f"{server.base_url}/{path}", json={"stream": stream_it})
            assert reply.status_code == 401
            assert reply.headers["content-type"] == "application/json"
            assert reply.json()["error"]["message"]


def test_the_events_of_messages_come_in_the_documented_order() -> None:
    reply = Reply((Thinking("Hm."), Text("Hi"), ToolCall("get_time", '{"a":1}')))
    order = [
        (event["type"], event.get("index"), event.get("delta", {}).get("type"))
        for event in events(stream(MESSAGES, reply))
    ]
    expected: list[tuple[str, int | None, str | None]] = [
        ("message_start", None, None),
        ("ping", None, None),
    ]
    for index, kinds in enumerate(
        (("thinking_delta", "signature_delta"), ("text_delta",), ("input_json_delta",))
    ):
        expected.append(("content_block_start", index, None))
        expected += [("content_block_delta", index, kind) for kind in kinds]
        expected.append(("content_block_stop", index, None))
    expected += [("message_delta", None, None), ("message_stop", None, None)]
    assert list(dict.fromkeys(order)) == expected
    assert order == sorted(order, key=list(dict.fromkeys(order)).index)


def test_tool_input_lives_in_deltas_only() -> None:
    start = next(
        event["content_block"]
        for event in events(stream(MESSAGES, TWO))
        if event["type"] == "content_block_start"
    )
    assert start == {"type": "tool_use", "id": "fake0", "name": "get_weather", "input": {}}


def test_the_events_of_responses_come_in_the_documented_order_with_numbers() -> None:
    reply = Reply((Thinking("Hm."), Text("Hi"), ToolCall("get_time", '{"a":1}')))
    found = events(stream(RESPONSES, reply))
    assert [event["sequence_number"] for event in found] == list(range(len(found)))
    assert list(dict.fromkeys((event["type"], event.get("output_index")) for event in found)) == [
        ("response.created", None),
        ("response.in_progress", None),
        ("response.output_item.added", 0),
        ("response.reasoning_summary_part.added", 0),
        ("response.reasoning_summary_text.delta", 0),
        ("response.reasoning_summary_text.done", 0),
        ("response.reasoning_summary_part.done", 0),
        ("response.output_item.done", 0),
        ("response.output_item.added", 1),
        ("response.content_part.added", 1),
        ("response.output_text.delta", 1),
        ("response.output_text.done", 1),
        ("response.content_part.done", 1),
        ("response.output_item.done", 1),
        ("response.output_item.added", 2),
        ("response.function_call_arguments.delta", 2),
        ("response.function_call_arguments.done", 2),
        ("response.output_item.done", 2),
        ("response.completed", None),
    ]
    items = found[-1]["response"]["output"]
    assert len({item["id"] for item in items}) == 3
    assert all(item["status"] == "completed" for item in items if item["type"] != "reasoning")


def conversation_after(script: Callable[[Conversation], Reply], retries: int) -> list[bytes]:
    """What a client gets that asks each turn `retries` times more than it has to."""
    history: list[Any] = [{"role": "user", "content": "go"}]
    got = []
    while True:
        for _ in range(retries + 1):
            found = parse(CHAT, messages=history)
            body = CHAT.render_whole(found, complete(found, script(found)))
        got.append(body)
        message = json.loads(body)["choices"][0]["message"]
        history.append(message)
        if not message.get("tool_calls"):
            return got
        history += [
            {"role": "tool", "tool_call_id": one["id"], "content": "r"}
            for one in message["tool_calls"]
        ]


def test_a_retry_gets_the_same_reply_and_moves_no_cursor() -> None:
    def script(conversation: Conversation) -> Reply:
        return ask("get_time") if conversation.turn == 0 else say("ok")

    assert conversation_after(script, retries=0) == conversation_after(script, retries=2)


@pytest.mark.parametrize("dialect", ASKED, ids=lambda one: one.name)
def test_ids_follow_from_turn_and_position_and_never_from_a_clock(dialect: Dialect) -> None:
    assert stream(dialect, TWO) == stream(dialect, TWO)
    assert whole(dialect, TWO) == whole(dialect, TWO)
    assert b"fake0p1" in stream(dialect, TWO)
