"""Identical requests get identical bytes: in any order, any number of times, in any process."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from processes import Serve

from fakeprovider.parsing.caches import RequestCaches
from fakeprovider.server import Server


def body(turns: int, stream: bool, said: str = "") -> bytes:
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"go {said}"}]
    for index in range(turns):
        call = {"id": f"fake{index}", "function": {"name": "list_files", "arguments": "{}"}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"fake{index}", "content": said * 40})
    tools = [{"type": "function", "function": {"name": "list_files"}}]
    options = {"stream": stream, "stream_options": {"include_usage": True}} if stream else {}
    return json.dumps({"model": "m", "messages": messages, "tools": tools, **options}).encode()


BODIES = [body(turns, stream) for turns in (0, 1, 2, 70) for stream in (False, True)]


def answer(http: httpx.Client, url: str, request: bytes) -> tuple[int, bytes, dict[str, str]]:
    """Status, body and headers: all that the client can see."""
    reply = http.post(f"{url}/runaway/v1/chat/completions", content=request)
    return reply.status_code, reply.content, dict(reply.headers)


@pytest.fixture(scope="module")
def two(serve: Serve) -> tuple[str, str]:
    return serve().url, serve().url


def test_two_processes_answer_alike(http: httpx.Client, two: tuple[str, str]) -> None:
    """One in order, one in the opposite order and with repeats."""
    first = [answer(http, two[0], request) for request in BODIES]
    second = [answer(http, two[1], request) for request in reversed(BODIES)]
    again = [answer(http, two[1], request) for request in BODIES]
    assert first == second[::-1] == again
    assert {status for status, _, _ in first} == {200}
    assert len({reply for _, reply, _ in first}) == len(BODIES)


def test_interleaved_requests_do_not_shift_each_other(
    http: httpx.Client, two: tuple[str, str]
) -> None:
    """Many at once over several connections get what each gets alone."""
    alone = {request: answer(http, two[0], request)[1] for request in BODIES}
    with ThreadPoolExecutor(8) as pool:
        replies = pool.map(lambda one: (one, answer(http, two[0], one)[1]), BODIES * 6)
        assert all(reply == alone[request] for request, reply in replies)


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from("abc")), min_size=1, max_size=8))
@settings(max_examples=30)
def test_no_history_of_a_server_changes_a_reply(
    server: Server, http: httpx.Client, fresh: Server, asked: list[tuple[int, str]]
) -> None:
    """Whatever was asked before, in whatever order, a reply is that of a server asked nothing."""
    for turns, said in asked:
        request = body(turns, turns % 2 == 0, said)
        fresh.provider.caches = RequestCaches()
        assert answer(http, server.url, request) == answer(http, fresh.url, request)


@pytest.fixture(scope="module")
def fresh() -> Any:
    with Server("plan") as running:
        yield running


def test_a_trimmed_history_does_not_rewind(http: httpx.Client, two: tuple[str, str]) -> None:
    """Own call ids carry the turn: the reply after a trimmed history is that after the whole."""
    whole = json.loads(body(5, False))
    trimmed = {**whole, "messages": whole["messages"][:1] + whole["messages"][-2:]}
    first, second = (
        json.loads(answer(http, two[0], json.dumps(one).encode())[1]) for one in (whole, trimmed)
    )
    assert first["choices"] == second["choices"]
    assert first["id"] == second["id"] == "chatcmpl-fake5"
