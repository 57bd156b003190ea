"""The chat completions client: what it sends, and whole replies."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from fakeprovider_harness.models import (
    Call,
    ChatModel,
    Message,
    ModelError,
    ModelReply,
    ToolSpec,
    Usage,
)

if TYPE_CHECKING:
    from tests.harness.conftest import Wire

USER = [Message("user", "hi")]
TOOLS = [ToolSpec("list_files", "List.", {"type": "object", "properties": {}})]


# ---------------------------------------------------------------- whole replies


def test_a_whole_reply_is_read_with_calls_usage_and_model(wire: type[Wire]) -> None:
    message = {
        "content": None,
        "tool_calls": [wire.tool(None, "call_a", "search", arguments='{"q":"x"}')],
    }
    usage = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}
    body = wire.whole(message, "tool_calls", usage=usage, model="other")
    reply = wire.reply(wire.json(body), stream=False)
    assert reply == ModelReply(
        "", (Call("call_a", "search", '{"q":"x"}'),), "tool_calls", Usage(7, 2), "other"
    )


def test_content_parts_and_object_arguments_are_understood(wire: type[Wire]) -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "thinking"}, {"type": "text", "text": "b"}]
    entry = {"id": "i", "function": {"name": "f", "arguments": {"x": 1}}}
    body = wire.whole({"content": parts, "tool_calls": [entry]}, "tool_calls")
    reply = wire.reply(wire.json(body), stream=False)
    assert (reply.text, reply.calls) == ("ab", (Call("i", "f", '{"x":1}'),))


def test_a_server_that_answers_whole_when_asked_to_stream_is_understood_and_the_reverse(
    wire: type[Wire],
) -> None:
    assert wire.reply(wire.json(wire.whole({"content": "x"})), stream=True).text == "x"
    stream = [wire.D({"content": "y"}), wire.F("stop"), wire.DONE]
    assert wire.reply(stream, stream=False).text == "y"
    assert wire.reply(wire.Answer(stream, content_type=""), stream=True).text == "y"


@pytest.mark.parametrize(
    "body", [b"<html>hi</html>", b"", b"[]", b'{"choices":[]}', b"{}", b'{"choices":null}', b"\xff"]
)
def test_a_200_that_is_no_completion_is_an_error(wire: type[Wire], body: bytes) -> None:
    error = wire.error(wire.json(body), stream=False)
    assert "unreadable reply" in str(error)
    assert error.retryable


def test_a_200_nested_absurdly_is_an_error(wire: type[Wire]) -> None:
    body = b'{"choices":' + b"[" * 50_000 + b"]" * 50_000 + b"}"
    assert "unreadable reply" in str(wire.error(wire.json(body), stream=False))


def test_a_200_with_an_error_object_is_an_error(wire: type[Wire]) -> None:
    body = b'{"error":{"message":"upstream died","code":502}}'
    error = wire.error(wire.json(body), stream=False)
    assert (error.status, error.retryable) == (502, True)


def test_half_a_body_is_a_broken_connection(wire: type[Wire]) -> None:
    body = wire.whole({"content": "x"})
    answer = wire.json(body)
    answer.headers = {"content-length": str(len(body))}
    answer.framing, answer.body = "close", [body[:20]]
    error = wire.error(answer, stream=False)
    assert (error.status, error.retryable) == (None, True)
    assert error.partial is not None


# ---------------------------------------------------------------- requests


def test_the_request_is_the_documented_one(wire: type[Wire]) -> None:
    history = [
        Message("system", "Be brief."),
        Message("user", "Which?"),
        Message("assistant", None, (Call("fake0", "list_files", "{}"),)),
        Message("tool", '["a"]', call_id="fake0", name="list_files", outcome="ok"),
        Message("assistant", "a.", (Call("fake1", "list_files", ""),)),
        Message("tool", None, call_id="fake1", name="list_files", outcome="error"),
        Message("assistant", None),
    ]

    def call(id: str, arguments: str) -> Any:
        function = {"name": "list_files", "arguments": arguments}
        return {"id": id, "type": "function", "function": function}

    assert wire.sent(history, TOOLS) == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Which?"},
            {"role": "assistant", "content": None, "tool_calls": [call("fake0", "{}")]},
            {"role": "tool", "tool_call_id": "fake0", "content": '["a"]'},
            {"role": "assistant", "content": "a.", "tool_calls": [call("fake1", "")]},
            {"role": "tool", "tool_call_id": "fake1", "content": ""},
            {"role": "assistant", "content": ""},
        ],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "list_files",
                    "description": "List.",
                    "parameters": {"type": "object", "properties": {}},
                },
            }
        ],
    }


def test_max_output_and_options_stand_in_the_body(wire: type[Wire]) -> None:
    body = wire.sent(USER, max_output=30, options={"temperature": 0})
    assert (body["max_completion_tokens"], body["temperature"]) == (30, 0)
    assert wire.sent(USER, max_output=0)["max_completion_tokens"] == 0
    assert wire.sent(USER, max_output=30, max_output_field="max_tokens")["max_tokens"] == 30
    assert "max_completion_tokens" not in wire.sent(USER)


def test_ids_and_names_that_a_service_would_refuse_are_rewritten_alike(wire: type[Wire]) -> None:
    long = "call_" + "x" * 60
    history = [
        *USER,
        Message("assistant", None, (Call(long, "read file!", "{}"), Call("b", "", "{}"))),
        Message("tool", "r", call_id=long),
        Message("tool", "r", call_id="b"),
    ]
    _, assistant, result, _ = wire.sent(history)["messages"]
    entry, nameless = assistant["tool_calls"]
    assert entry["id"] == result["tool_call_id"]
    assert len(entry["id"]) <= 40
    assert entry["function"]["name"].startswith("read_file_")
    assert nameless["function"]["name"]


def test_lone_surrogates_never_reach_the_wire(wire: type[Wire]) -> None:
    history = [
        Message("user", "a\ud83d"),
        Message("assistant", None, (Call("a", "f", '{"x":"\ud83d"}'),)),
        Message("tool", "\udc00", call_id="a"),
    ]
    tools = [ToolSpec("f", "bad \ud83d", {"type": "object"})]
    body = wire.sent(history, tools)
    assert body["messages"][0]["content"] == "a\ufffd"
    assert body["messages"][1]["tool_calls"][0]["function"]["arguments"] == '{"x":"\ufffd"}'
    assert body["tools"][0]["function"]["description"] == "bad \ufffd"


def test_reasoning_comes_back_with_the_calls_it_led_to(wire: type[Wire]) -> None:
    stream = [
        wire.D({"reasoning_content": "let me "}),
        wire.D({"reasoning_content": "see"}),
        wire.D(wire.calls(wire.tool(0, "a", "f", arguments="{}"))),
        wire.F("tool_calls"),
        wire.DONE,
    ]
    reply = wire.reply(stream)
    history = [*USER, Message("assistant", None, reply.calls, opaque=reply.opaque)]
    assert wire.sent(history)["messages"][1]["reasoning_content"] == "let me see"


def test_a_growing_history_is_sent_right_though_its_start_is_encoded_once(wire: type[Wire]) -> None:
    async def bodies() -> list[Any]:
        async with wire.Server(wire.json(wire.whole({"content": "x"}))) as server:
            model = ChatModel(server.url)
            one, two, three = (Message("user", text) for text in "abc")
            for history in ([one], [one, two], [one, three], [two], [one, three, two]):
                await model.ask(history, [])
            await model.aclose()
            return [[m["content"] for m in r.json["messages"]] for r in server.requests]

    assert asyncio.run(bodies()) == [["a"], ["a", "b"], ["a", "c"], ["b"], ["a", "c", "b"]]


@pytest.mark.parametrize(
    ("base", "target"),
    [
        ("", "/v1/chat/completions"),
        ("/", "/v1/chat/completions"),
        ("/v1", "/v1/chat/completions"),
        ("/v1/", "/v1/chat/completions"),
        ("/runaway", "/runaway/v1/chat/completions"),
        ("/~KEY/runaway;fault=x,turn=3/v1", "/~KEY/runaway;fault=x,turn=3/v1/chat/completions"),
        ("/v1beta/openai", "/v1beta/openai/chat/completions"),
        ("/api/v4?api-version=2", "/api/v4/chat/completions?api-version=2"),
        ("/x/chat/completions", "/x/chat/completions"),
    ],
)
def test_the_base_url_may_end_in_v1_or_not(wire: type[Wire], base: str, target: str) -> None:
    assert wire.request(USER, path=base).target == target


def test_the_base_url_comes_from_the_environment_and_is_never_guessed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LLM_BASE_URL", "http://127.0.0.1:9/plan/v1")
    assert str(ChatModel()._connection.url) == "http://127.0.0.1:9/plan/v1/chat/completions"
    monkeypatch.delenv("LLM_BASE_URL")
    with pytest.raises(ValueError, match="LLM_BASE_URL"):
        ChatModel()
    with pytest.raises(ValueError, match=r"not an http\(s\) URL"):
        ChatModel("127.0.0.1:8000")


def test_the_key_is_sent_as_bearer_and_only_if_there_is_one(
    wire: type[Wire], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LLM_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert "authorization" not in wire.request(USER).headers
    headers = wire.request(USER, api_key="k1\n", headers={"x-run": "7"}).headers
    assert (headers["authorization"], headers["x-run"]) == ("Bearer k1", "7")
    monkeypatch.setenv("OPENAI_API_KEY", "k2")
    assert wire.request(USER).headers["authorization"] == "Bearer k2"


def test_a_name_and_password_in_the_base_url_are_sent_as_basic_authentication() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(401)

    model = ChatModel(
        "https://me:p%40ss@host/v1", api_key="k1", transport=httpx.MockTransport(answer)
    )
    with pytest.raises(ModelError):
        asyncio.run(model.ask(USER, []))
    assert seen[0].headers.get_list("authorization") == ["Basic bWU6cEBzcw=="]
    assert str(seen[0].url) == "https://host/v1/chat/completions"


def test_the_official_sdk_parses_our_request_body_as_its_own(wire: type[Wire]) -> None:
    """The SDK's own request types are the referee of ours."""
    from openai.types.chat import completion_create_params as params
    from pydantic import TypeAdapter

    history = [
        Message("system", "s"),
        *USER,
        Message("assistant", None, (Call("a", "f", "{}"),)),
        Message("tool", "r", call_id="a"),
    ]
    adapter: Callable[[Any], Any] = TypeAdapter(
        params.CompletionCreateParamsNonStreaming
    ).validate_python
    adapter(wire.sent(history, TOOLS, max_output=9))
