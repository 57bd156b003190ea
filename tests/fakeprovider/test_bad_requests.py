"""Bad requests: always the service's JSON error, with words that help; never a dead server."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakeprovider.server import Server

USER = '{"role":"user","content":"go"}'


@pytest.fixture(scope="module")
def small() -> Iterator[Server]:
    """A server that takes at most 100 kB."""
    with Server("plan", max_body=100_000) as running:
        yield running


def chat(messages: str, rest: str = "") -> bytes:
    return f'{{"model":"m","messages":{messages}{rest}}}'.encode()


def with_message(**fields: Any) -> bytes:
    return chat(f"[{json.dumps(fields)}]")


BAD: list[tuple[str, bytes, str, str | None]] = [
    ("empty", b"", "The body is empty", None),
    ("spaces", b"  \n", "The body is empty", None),
    ("not JSON", b"{", "The body is not JSON: Expecting property name", None),
    ("cut off", chat(f"[{USER}")[:-2], "not JSON", None),
    ("text after", chat(f"[{USER}]") + b"x", "not JSON", None),
    ("NaN", chat(f"[{USER}]", ',"x":NaN'), "not JSON", None),
    ("not UTF-8", b'{"model":"\xff"}', "not UTF-8: byte 0xff at position 10", None),
    (
        "not UTF-8 where nobody looks",
        chat(f"[{USER}]", ',"x":"@"').replace(b"@", b"\xc3"),
        "not UTF-8",
        None,
    ),
    ("lone surrogate", chat('[{"role":"user","content":"\\ud800"}]'), "lone surrogate", None),
    ("lone surrogate elsewhere", chat(f"[{USER}]", ',"x":"\\udc00"'), "lone surrogate", None),
    ("deep array", b"[" * 50_000 + b"]" * 50_000, "object, got array", None),
    ("deep messages", chat("[" * 50_000 + "]" * 50_000), "nested too deeply", None),
    (
        "deep tools",
        chat(f"[{USER}]", ',"tools":' + "[" * 50_000 + "]" * 50_000),
        "nested too deeply",
        None,
    ),
    (
        "deep unknown",
        chat(f"[{USER}]", ',"x":' + '{"a":' * 50_000 + "1" + "}" * 50_000),
        "nested too deeply",
        None,
    ),
    ("an array", b"[]", "Invalid type for the body: expected object, got array", None),
    ("null", b"null", "expected object, got null", None),
    ("no messages", b'{"model":"m"}', "Missing required parameter: 'messages'", "messages"),
    (
        "no model",
        chat(f"[{USER}]").replace(b'"model":"m",', b""),
        "Missing required parameter: 'model'",
        "model",
    ),
    ("messages null", chat("null"), "Invalid type for 'messages'", "messages"),
    ("messages empty", chat("[]"), "Invalid 'messages': an empty list", "messages"),
    ("messages an object", chat("{}"), "'messages': expected array, got object", "messages"),
    (
        "message a number",
        chat(f"[{USER},5]"),
        "'messages[1]': expected object, got integer",
        "messages[1]",
    ),
    (
        "model a number",
        chat(f"[{USER}]").replace(b'"m"', b"5"),
        "'model': expected string, got integer",
        "model",
    ),
    ("no role", with_message(content="x"), "'messages[0].role'", "messages[0].role"),
    ("unknown role", with_message(role="banana", content="x"), "'banana'", "messages[0].role"),
    ("user null", with_message(role="user", content=None), "got null", "messages[0].content"),
    ("user number", with_message(role="user", content=5), "got integer", "messages[0].content"),
    (
        "unknown part",
        with_message(role="user", content=[{"type": "song"}]),
        "'song'",
        "messages[0].content[0].type",
    ),
    (
        "part without text",
        with_message(role="user", content=[{"type": "text"}]),
        "Missing required",
        "messages[0].content[0].text",
    ),
    (
        "image in system",
        with_message(role="system", content=[{"type": "image_url"}]),
        "'image_url'",
        "messages[0].content[0].type",
    ),
    (
        "tool without id",
        with_message(role="tool", content="x"),
        "tool_call_id",
        "messages[0].tool_call_id",
    ),
    (
        "tool with image",
        with_message(role="tool", tool_call_id="a", content=[{"type": "image_url"}]),
        "'image_url'",
        "messages[0].content[0].type",
    ),
    (
        "tool with nothing",
        with_message(role="tool", tool_call_id="a", content=[]),
        "an empty list",
        "messages[0].content",
    ),
    (
        "call without name",
        with_message(role="assistant", tool_calls=[{"id": "a", "function": {}}]),
        "name",
        "messages[0].tool_calls[0].function.name",
    ),
    (
        "call without function",
        with_message(role="assistant", tool_calls=[{"id": "a"}]),
        "function",
        None,
    ),
    (
        "cap of 0",
        chat(f"[{USER}]", ',"max_tokens":0'),
        "expected a value >= 1, but got 0",
        "max_tokens",
    ),
    ("cap in words", chat(f"[{USER}]", ',"max_tokens":"many"'), "expected integer", "max_tokens"),
    ("stream in words", chat(f"[{USER}]", ',"stream":"yes"'), "expected boolean", "stream"),
    (
        "tool without name",
        chat(f"[{USER}]", ',"tools":[{"type":"function","function":{}}]'),
        "Missing required",
        "tools[0].function.name",
    ),
    (
        "tool with odd name",
        chat(f"[{USER}]", ',"tools":[{"type":"function","function":{"name":"a b"}}]'),
        "'a b'",
        "tools[0].function.name",
    ),
]


@pytest.mark.parametrize(
    ("body", "words", "param"), [row[1:] for row in BAD], ids=[row[0] for row in BAD]
)
def test_bad_bodies(
    server: Server, http: httpx.Client, body: bytes, words: str, param: str | None
) -> None:
    """400, in the service's shape, naming the field where there is one."""
    reply = http.post(f"{server.base_url}/chat/completions", content=body)
    error = reply.json()["error"]
    assert reply.status_code == 400
    assert reply.headers["content-type"] == "application/json"
    assert error["type"] == "invalid_request_error"
    assert words in error["message"]
    assert param is None or error["param"] == param
    assert set(error) == {"message", "type", "param", "code"}


def test_a_body_over_the_limit(small: Server, http: httpx.Client) -> None:
    """413, which a client sees that sends the whole of it first, and the server goes on."""
    for size in (100_001, 1_500_000, 9_000_000):
        reply = http.post(f"{small.base_url}/chat/completions", content=b" " * size)
        assert (reply.status_code, reply.json()["error"]["code"]) == (413, "request_too_large")
        assert "over the limit of 100,000 bytes" in reply.json()["error"]["message"]
    fits = chat(f"[{USER}]", ',"x":"' + "x" * 99_000 + '"')
    assert http.post(f"{small.base_url}/chat/completions", content=fits).status_code == 200


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_another_method(server: Server, http: httpx.Client, method: str) -> None:
    """405, saying which one is right."""
    reply = http.request(method, f"{server.base_url}/chat/completions")
    assert (reply.status_code, reply.headers["allow"]) == (405, "POST")
    assert reply.json()["error"]["message"] == f"Not allowed to {method} here; use POST."


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "banana"])
def test_another_content_type(server: Server, http: httpx.Client, kind: str) -> None:
    """415, naming what came and what is wanted."""
    reply = http.post(
        f"{server.base_url}/chat/completions",
        content=chat(f"[{USER}]"),
        headers={"content-type": kind},
    )
    assert reply.status_code == 415
    assert kind in reply.json()["error"]["message"]


@pytest.mark.parametrize(
    "kind", ["application/json", "application/json; charset=utf-8", "application/vnd.x+json", None]
)
def test_content_types_that_are_fine(server: Server, http: httpx.Client, kind: str | None) -> None:
    """JSON by any name, or nothing said at all."""
    headers = {} if kind is None else {"content-type": kind}
    reply = http.post(
        f"{server.base_url}/chat/completions?beta=true",
        content=chat(f"[{USER}]"),
        headers=headers,
    )
    assert reply.status_code == 200


def test_paths_that_lead_nowhere(server: Server, http: httpx.Client) -> None:
    """404 as JSON, never 200."""
    for path in ("/nope", "/v1/nope", "/a/b/v1/chat/completions", "/v1/chat/completions/x"):
        reply = http.post(f"{server.url}{path}", content=chat(f"[{USER}]"))
        assert reply.status_code == 404
        assert reply.json()["error"]["message"]


def test_a_client_that_leaves_in_the_middle_of_its_request() -> None:
    """Is journaled as cancelled, and nothing else happens."""
    running = Server("plan")
    running.start()
    with socket.create_connection(("127.0.0.1", running.port)) as leaving:
        leaving.sendall(
            b"POST /~left/v1/chat/completions HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\n"
            b"content-length: 100\r\n\r\n{"
        )
        assert b"100 Continue" in leaving.recv(100)  # the server is reading now
    running.stop()
    assert [exchange.cancelled for exchange in running.journal.exchanges("left")] == [True]


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "role",
                    "content",
                    "type",
                    "text",
                    "tool_calls",
                    "id",
                    "function",
                    "name",
                    "arguments",
                    "tool_call_id",
                    "image_url",
                    "refusal",
                    "parameters",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
requests = st.fixed_dictionaries(
    {},
    optional={
        "model": junk | st.just("m"),
        "messages": st.lists(junk | st.just(json.loads(USER)), max_size=4) | junk,
        "tools": junk,
        "tool_choice": junk,
        "stream": junk,
        "stream_options": junk,
        "max_tokens": junk,
        "max_completion_tokens": junk,
        "n": junk,
        "stop": junk,
        "response_format": junk,
    },
)


@given(requests.map(json.dumps) | st.text(max_size=20))
@settings(max_examples=200)
def test_whatever_is_sent_is_answered(server: Server, http: httpx.Client, text: str) -> None:
    """Any JSON at all, and any text: a 200 or the service's own 400, never a failure of ours."""
    body = text.encode(errors="surrogatepass")
    reply = http.post(f"{server.url}/runaway/v1/chat/completions", content=body)
    assert reply.status_code in (200, 400), reply.text
    if reply.status_code == 400:
        assert reply.json()["error"]["type"] == "invalid_request_error"


def test_a_script_that_fails_is_an_error_and_no_traceback(http: httpx.Client) -> None:
    """500 that names script and reason, not to be retried; the next request is answered."""

    def broken(conversation: Any) -> Any:
        if conversation.seen("break"):
            raise KeyError("oops")
        return "no reply"

    with Server(broken) as running:
        url = f"{running.base_url}/chat/completions"
        first = http.post(url, content=with_message(role="user", content="break"))
        second = http.post(url, content=with_message(role="user", content="go"))
    assert (first.status_code, first.headers["x-should-retry"]) == (500, "false")
    assert "Script 'broken' failed on this conversation: KeyError: 'oops'" in first.text
    assert "Traceback" not in first.text
    assert "it returned str, not a Reply" in second.text
