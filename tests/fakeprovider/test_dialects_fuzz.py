"""Generated requests over all endpoints: no 5xx, no hang, no traceback, whatever comes in.

`GENERATED_REQUESTS` sets how many; the slower jobs run ten thousand.
"""

from __future__ import annotations

import copy
import json
import logging
import os
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Refusal, Reply, Text, Thinking, ask, call, say
from fakeprovider.server import Server

REQUESTS = int(os.environ.get("GENERATED_REQUESTS", "300"))

CALL = {"id": "fake0", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CHAT: Any = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "s"},
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "fake0", "content": "r"},
    ],
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
    "tool_choice": "auto",
    "response_format": {"type": "text"},
    "stop": ["x"],
    "n": 1,
    "max_tokens": 50,
    "stream": True,
    "stream_options": {"include_usage": True},
}
MESSAGES: Any = {
    "model": "m",
    "max_tokens": 50,
    "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
    "messages": [
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "t", "signature": "x"},
                {"type": "tool_use", "id": "fake0", "name": "f", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "fake0",
                    "content": [{"type": "text", "text": "r"}],
                },
                {"type": "text", "text": "go on"},
            ],
        },
    ],
    "tools": [{"name": "f", "input_schema": {"type": "object"}}],
    "tool_choice": {"type": "auto"},
    "stop_sequences": ["x"],
    "stream": False,
}
RESPONSES: Any = {
    "model": "m",
    "instructions": "s",
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "go"}]},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "function_call", "call_id": "fake0", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "fake0", "output": "r"},
    ],
    "previous_response_id": None,
    "tools": [{"type": "function", "name": "f", "parameters": {"type": "object"}}],
    "tool_choice": "auto",
    "text": {"format": {"type": "text"}},
    "include": [],
    "max_output_tokens": 50,
    "stream": True,
    "store": True,
}
EMBEDDINGS: Any = {"model": "m", "input": ["a", "b"], "encoding_format": "float", "dimensions": 4}
BODIES = {
    "/v1/chat/completions": CHAT,
    "/v1/messages": MESSAGES,
    "/v1/messages/count_tokens": MESSAGES,
    "/v1/responses": RESPONSES,
    "/v1/responses/input_tokens": RESPONSES,
    "/v1/embeddings": EMBEDDINGS,
}


def mixed(conversation: Conversation) -> Reply:
    """A reply of any kind, by the digest of the request."""
    kinds = (
        say("words"),
        say(""),
        ask("f", {"a": "é" * 50}),
        say("a", call("f"), "b", call("f")),
        Reply((Thinking("hm"), Text("so"))),
        Reply((Refusal("no"),)),
        Reply((), "pause"),
        ask("f", '{"cut'),
        say('{"json": true}'),
    )
    return kinds[int(conversation.digest[:8], 16) % len(kinds)]


strange = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=30),
    st.sampled_from(
        ["", "assistant", "tool", "function_call", "item_reference", "tool_result", "x" * 99]
    ),
    st.just([]),
    st.just({}),
    st.lists(st.integers() | st.text(max_size=3), max_size=3),
    st.dictionaries(
        st.sampled_from(["type", "role", "content", "id", "name"]), st.text(max_size=5)
    ),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to everything in a JSON value, but for its root."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    for key, one in inside:
        yield (*path, key)
        if isinstance(one, dict | list):
            yield from places(one, (*path, key))


def mutate(body: Any, path: tuple[Any, ...], how: str, value: Any) -> None:
    """Change one place; a place that an earlier change removed stays removed."""
    holder = body
    for key in path[:-1]:
        try:
            holder = holder[key]
        except (KeyError, IndexError, TypeError):
            return
    if isinstance(holder, list) and isinstance(path[-1], int) and path[-1] < len(holder):
        if how == "repeat":
            holder.insert(path[-1], copy.deepcopy(holder[path[-1]]))
        elif how == "drop":
            del holder[path[-1]]
        else:
            holder[path[-1]] = value
    elif isinstance(holder, dict) and path[-1] in holder:
        if how == "drop":
            del holder[path[-1]]
        else:
            holder[path[-1]] = value


@st.composite
def bodies(draw: st.DrawFn, path: str) -> bytes:
    """A body for an endpoint: right, a little wrong, or nothing like it."""
    body = copy.deepcopy(BODIES[path])
    spots = sorted(places(body), key=repr)
    for _ in range(draw(st.integers(0, 4))):
        mutate(
            body,
            draw(st.sampled_from(spots)),
            draw(st.sampled_from(["drop", "repeat", "replace"])),
            draw(strange),
        )
    data = json.dumps(body).encode()
    kind = draw(st.sampled_from(["whole"] * 12 + ["cut", "bytes", "other", "broken"]))
    if kind == "cut":
        return data[: draw(st.integers(0, len(data)))]
    if kind == "bytes":
        return draw(st.binary(max_size=60))
    if kind == "other":
        return json.dumps(draw(strange)).encode()
    if kind == "broken":
        at = draw(st.integers(0, len(data)))
        return (
            data[:at]
            + draw(st.sampled_from([b"\\ud800", b"\xff", b"\x00", b'"', b"[" * 999]))
            + data[at:]
        )
    return data


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, str, bytes, dict[str, str]]:
    """Method, path, body and headers."""
    path = draw(st.sampled_from(sorted(BODIES)))
    prefix = draw(
        st.sampled_from(
            ["", "", "", "/mixed", "/plan", "/~k/runaway", "/nosuch", "/plan;x=1", "/a/b"]
        )
    )
    query = draw(st.sampled_from(["", "", "?beta=true", "?%ff&&"]))
    method = draw(st.sampled_from(["POST"] * 12 + ["GET", "PUT", "DELETE"]))
    headers = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "content-type": st.sampled_from(["application/json", "text/plain", "", "a;b"]),
                "x-stainless-retry-count": st.sampled_from(["0", "1", "x", "9" * 40]),
                "x-fake-run": st.sampled_from(["run", "é", ""]),
                "anthropic-version": st.just("2023-06-01"),
            },
        )
    )
    return method, prefix + path + query, draw(bodies(path)), headers


class Errors(logging.Handler):
    """What the server logged as an error."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


@pytest.fixture(scope="module")
def errors() -> Iterator[Errors]:
    handler = Errors()
    loggers = [logging.getLogger(name) for name in ("fakeprovider", "uvicorn.error", "asyncio")]
    for logger in loggers:
        logger.addHandler(handler)
    yield handler
    for logger in loggers:
        logger.removeHandler(handler)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server("mixed", scripts={"mixed": mixed}, prompt_cache=True) as running:
        yield running


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    with httpx.Client(timeout=10) as client:
        yield client


@settings(
    max_examples=REQUESTS,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(sent=requests())
def test_no_request_breaks_the_provider(
    server: Server, http: httpx.Client, errors: Errors, sent: tuple[str, str, bytes, dict[str, str]]
) -> None:
    method, path, body, headers = sent
    encoded = {name: value.encode("latin-1") for name, value in headers.items()}
    reply = http.request(method, server.url + path, content=body, headers=encoded)
    assert reply.status_code < 500, reply.text
    assert "Traceback" not in reply.text
    assert errors.lines == []
    if reply.status_code != 200:
        error = reply.json()["error"]
        assert error["message"]
        assert error["type"]
    elif reply.headers["content-type"] == "application/json":
        assert reply.json()
    else:
        assert reply.text.endswith("\n\n")
        assert reply.text.startswith(("data: ", "event: "))
