"""Recording Messages and Responses: each reply answers its own request again, in any dialect."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from fakeprovider.conversation import Conversation
from fakeprovider.protocols.answers import NotAnAnswer
from fakeprovider.protocols.dialect import read_answer
from fakeprovider.recording.book import Book, to_yaml
from fakeprovider.recording.proxy import Proxy, with_key
from fakeprovider.replies import Refusal, Reply, Text, Thinking, call, say
from fakeprovider.server import Server
from fakeprovider.yamlscripts import read_script

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
TURNS = (
    Reply((Thinking("hm"), Text("Let me {{ look }}.\n"), call("read_file", {"path": "a"}))),
    Reply((call("read_file", '{ "path" :"b"}'), call("read_file", {"n": [1.5, None, "🙂"]}))),
    say("Both.\n"),
    Reply((Refusal("No more of that."),)),
    Reply((Text("cut sho"),), finish="length"),
)


def upstream_script(conversation: Conversation) -> Reply:
    """One turn of each kind."""
    return TURNS[conversation.turn]


class Messages:
    """A client of the Messages API, by hand."""

    path = "/messages"
    tools = ({"name": "read_file", "description": "Reads.", "input_schema": SCHEMA},)

    @staticmethod
    def body(history: list[Any]) -> dict[str, Any]:
        tools = Messages.tools
        return {"model": "m", "max_tokens": 999, "system": "s", "messages": history, "tools": tools}

    @staticmethod
    def user(text: str) -> dict[str, Any]:
        return {"role": "user", "content": text}

    @staticmethod
    def go_on(reply: dict[str, Any]) -> list[Any]:
        calls = [block for block in reply["content"] if block["type"] == "tool_use"]
        results = [
            {"type": "tool_result", "tool_use_id": one["id"], "content": f"found {at}"}
            for at, one in enumerate(calls)
        ]
        said = {"role": "assistant", "content": reply["content"]}
        return [said, {"role": "user", "content": results or "go on"}]

    @staticmethod
    def told(reply: dict[str, Any]) -> Any:
        usage = {name: reply["usage"][name] for name in ("input_tokens", "output_tokens")}
        return (*(reply[name] for name in ("content", "stop_reason", "stop_details")), usage)

    @staticmethod
    def text(reply: dict[str, Any]) -> str:
        return "".join(one.get("text", "") for one in reply["content"])


class Responses:
    """A client of the Responses API that sends everything each time."""

    path = "/responses"
    tools = (
        {"type": "function", "name": "read_file", "description": "Reads.", "parameters": SCHEMA},
    )

    @staticmethod
    def body(history: list[Any]) -> dict[str, Any]:
        more = {"instructions": "s", "tools": Responses.tools, "store": False}
        return {"model": "m", "input": history, **more}

    @staticmethod
    def user(text: str) -> dict[str, Any]:
        return {"role": "user", "content": text}

    @staticmethod
    def go_on(reply: dict[str, Any]) -> list[Any]:
        calls = [item for item in reply["output"] if item["type"] == "function_call"]
        results = [
            {"type": "function_call_output", "call_id": one["call_id"], "output": f"found {at}"}
            for at, one in enumerate(calls)
        ]
        return [*reply["output"], *(results or [Responses.user("go on")])]

    @staticmethod
    def told(reply: dict[str, Any]) -> Any:
        usage = {name: reply["usage"][name] for name in ("input_tokens", "output_tokens")}
        return (*(reply[name] for name in ("output", "status", "incomplete_details")), usage)

    @staticmethod
    def text(reply: dict[str, Any]) -> str:
        items = [one for one in reply["output"] if one["type"] == "message"]
        return "".join(part.get("text", "") for one in items for part in one["content"])


@pytest.fixture(scope="module")
def upstream() -> Iterator[Server]:
    with Server(upstream_script) as running:
        yield running


def recorded(upstream: Server, client: Any, stream: bool) -> tuple[Book, list[tuple[Any, Any]]]:
    """A conversation through the proxy, and what was asked and answered in it."""
    book, kept = Book(), []

    def record(path: str, sent: bytes, status: int, answer: bytes, streamed: bool) -> None:
        assert streamed is stream
        book.add(path, sent, status, answer, streamed=streamed)

    history = [client.user("Which?")]
    with Proxy(upstream.base_url, record) as proxy:
        for _ in TURNS:
            body = client.body(history)
            reply = httpx.post(f"{upstream.base_url}{client.path}", json=body).json()
            sent = httpx.post(f"{proxy.base_url}{client.path}", json={**body, "stream": stream})
            assert sent.status_code == 200
            kept.append((body, reply))
            history = [*history, *client.go_on(reply)]
    return book, kept


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("client", [Messages, Responses], ids=["messages", "responses"])
def test_each_recorded_reply_answers_its_own_request(
    upstream: Server, client: Any, stream: bool
) -> None:
    book, kept = recorded(upstream, client, stream)
    assert (book.passed_on, len(book)) == ([], len(TURNS))
    text = to_yaml(book.document("x"))
    assert text.count("after: ") == len(TURNS) - 1  # each goes on from the one before
    script, problems = read_script(text, "rec")
    assert problems == []
    assert script is not None
    with Server("rec", scripts={"rec": script}) as server:
        for body, reply in kept:
            again = httpx.post(f"{server.base_url}{client.path}", json=body).json()
            assert client.told(again) == client.told(reply)
        drift = httpx.post(f"{server.base_url}{client.path}", json=client.body([client.user("?")]))
    assert "message 1 differs" in drift.json()["error"]["message"]


def test_what_was_recorded_in_one_dialect_answers_in_another(upstream: Server) -> None:
    """The first turn, whose request has nothing of a dialect's own."""
    book, _ = recorded(upstream, Messages, stream=False)
    script, _ = read_script(to_yaml(book.document("x")), "rec")
    assert script is not None
    with Server("rec", scripts={"rec": script}) as server:
        body = Responses.body([Responses.user("Which?")])
        reply = httpx.post(f"{server.base_url}/responses", json=body).json()
    assert Responses.text(reply) == "Let me {{ look }}.\n"


# As the real services answer


def sse(*events: dict[str, Any]) -> bytes:
    return "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events).encode()


def test_a_streamed_message_of_the_real_service() -> None:
    """Cached tokens are part of the prompt; thinking is kept without its signature."""
    usage = {"input_tokens": 10, "cache_read_input_tokens": 70, "cache_creation_input_tokens": 20}
    thinking = {"type": "thinking", "thinking": "", "signature": ""}
    tool = {"type": "tool_use", "id": "toolu_01A", "name": "get", "input": {}}

    def delta(index: int, kind: str, name: str, text: str) -> dict[str, Any]:
        told = {"type": kind, name: text}
        return {"type": "content_block_delta", "index": index, "delta": told}

    stream = sse(
        {"type": "message_start", "message": {"content": [], "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": thinking},
        {"type": "ping"},
        delta(0, "thinking_delta", "thinking", "So"),
        delta(0, "signature_delta", "signature", "EqQBCg"),
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": tool},
        delta(1, "input_json_delta", "partial_json", ""),
        delta(1, "input_json_delta", "partial_json", '{"a": '),
        delta(1, "input_json_delta", "partial_json", "1}"),
        {"type": "content_block_stop", "index": 1},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use"},
            "usage": {"output_tokens": 7},
        },
        {"type": "message_stop"},
    )
    assert read_answer(stream, streamed=True, dialect="messages") == {
        "think": "So",
        "ask": [{"tool": "get", "arguments": {"a": 1}, "id": "toolu_01A"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 7, "cached_tokens": 70},
    }


def test_a_response_of_the_real_service() -> None:
    answer = {
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"},
        "output": [
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "So"}]},
            {"type": "message", "content": [{"type": "output_text", "text": "It is"}]},
        ],
        "usage": {
            "input_tokens": 9,
            "input_tokens_details": {"cached_tokens": 4},
            "output_tokens": 2,
        },
    }
    told = {
        "say": "It is",
        "think": "So",
        "finish": "length",
        "usage": {"prompt_tokens": 9, "completion_tokens": 2, "cached_tokens": 4},
    }
    body = json.dumps(answer).encode()
    assert read_answer(body, streamed=False, dialect="responses") == told
    stream = sse({"type": "response.created"}, {"type": "response.incomplete", "response": answer})
    assert read_answer(stream, streamed=True, dialect="responses") == told


SEARCH = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}


@pytest.mark.parametrize(
    ("dialect", "streamed", "body", "told"),
    [
        ("messages", False, {"content": [SEARCH]}, "block of type 'server_tool_use' cannot be"),
        ("messages", False, {"content": [], "stop_reason": "pause_turn"}, "a turn that pauses"),
        ("messages", False, {"id": 1}, "KeyError: 'content'"),
        ("messages", True, {"type": "ping"}, "the stream broke off"),
        ("messages", True, {"type": "error", "error": {"message": "busy"}}, "an error: busy"),
        ("responses", False, {"output": [{"type": "web_search_call"}]}, "'web_search_call' cannot"),
        ("responses", False, {"output": [], "status": "failed"}, "its status is 'failed'"),
        ("responses", True, {"type": "response.created"}, "the stream broke off"),
        ("responses", True, {"type": "response.failed", "why": "x"}, 'an error: {"type"'),
    ],
)
def test_what_is_no_answer_that_a_script_can_give(
    dialect: str, streamed: bool, body: dict[str, Any], told: str
) -> None:
    sent = sse(body) if streamed else json.dumps(body).encode()
    with pytest.raises(NotAnAnswer, match=told.replace("{", "\\{")):
        read_answer(sent, streamed=streamed, dialect=dialect)


@pytest.mark.parametrize("ours", [False, True], ids=["another's id", "an id of ours"])
def test_a_request_without_its_history_is_not_written_down(upstream: Server, ours: bool) -> None:
    """Whoever made the id: the next run would get another."""
    first = httpx.post(f"{upstream.base_url}/responses", json={"model": "m", "input": "x"}).json()
    previous = first["id"] if ours else "resp_68af4030592c81938ec0a5fbab4a3e9f05438e46b5f69a3b"
    body: dict[str, Any] = {"model": "m", "input": "y", "previous_response_id": previous}
    book = Book()
    book.add("/v1/responses", json.dumps(body).encode(), 200, b"{}", streamed=False)
    assert len(book) == 0
    assert len(book.passed_on) == 1
    assert "let the client send the whole history ('store': false)" in book.passed_on[0]


def test_a_path_that_only_looks_like_one_of_replies_is_passed_on() -> None:
    book = Book()
    for path in ("/v1/threads/t/messages", "/v1/messages/count_tokens", "/v1/responses/r"):
        book.add(path, b"{}", 200, b"{}", streamed=False)
    assert len(book.passed_on) == 3
    assert all("only replies are recorded" in line for line in book.passed_on)


@pytest.mark.parametrize(
    ("shown", "sent"),
    [
        ({"x-api-key": "own"}, {"x-api-key": "real"}),
        ({"authorization": "Bearer own"}, {"authorization": "Bearer real"}),
        ({"api-key": "own", "authorization": "Bearer own"}, {"api-key": "real"}),
        ({}, {"authorization": "Bearer real"}),
    ],
    ids=["anthropic", "openai", "azure", "none"],
)
def test_the_key_stands_where_the_client_had_its_own(
    shown: dict[str, str], sent: dict[str, str]
) -> None:
    """And is taken by a provider that wants it."""
    with (
        Server("plan", api_key="real") as strict,
        Proxy(strict.base_url, lambda *rest: None, key="real") as proxy,
    ):
        body = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
        reply = httpx.post(f"{proxy.base_url}/chat/completions", json=body, headers=shown)
    assert reply.status_code == 200
    assert dict(with_key(list(shown.items()), "real")) == sent
