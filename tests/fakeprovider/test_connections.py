"""The life of connections: reuse after a stream, clients that leave, clients that read slowly."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import httpx
import pytest

from fakeprovider.completion import Completion
from fakeprovider.conversation import Conversation
from fakeprovider.journal import Exchange
from fakeprovider.replies import Pace, Reply, Text, say
from fakeprovider.server import Server
from fakeprovider.serving import app as application

WORDS = 60_000
PATHS = {
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "go"}]},
    "/v1/messages": {"max_tokens": 10**6, "messages": [{"role": "user", "content": "go"}]},
    "/v1/responses": {"input": "go"},
}
LAST = {
    "/v1/chat/completions": b"data: [DONE]\n\n",
    "/v1/messages": b'data: {"type":"message_stop"}\n\n',
    "/v1/responses": b"}\n\n",
}


def huge(conversation: Conversation) -> Reply:
    """More words than any socket buffer holds."""
    return say("word " * WORDS)


def slow(conversation: Conversation) -> Reply:
    """Its own model name again and again, at its own speed."""
    speed = 50 + 37 * (len(conversation.model) % 7)
    return Reply((Text(f"{conversation.model} " * 10),), pace=Pace(0.0, speed))


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server("plan", scripts={"huge": huge, "slow": slow}) as running:
        yield running


def body(path: str, **rest: Any) -> dict[str, Any]:
    return {"model": "m", **PATHS[path], **rest}


def connect(server: Server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=10)


def ask(connection: socket.socket, path: str, content: dict[str, Any]) -> None:
    data = json.dumps(content).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
    connection.sendall(f"{head}content-length: {len(data)}\r\n\r\n".encode() + data)


def until(found: Callable[[], Any], seconds: float = 10.0) -> Any:
    """What `found` finds, once it does; it is asked again and again, for a while."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        result = found()
        if result:
            return result
        time.sleep(0.01)
    raise AssertionError("it did not happen in time")


def journaled(server: Server, run: str) -> Exchange:
    return until(lambda: server.journal.exchanges(run))[0]  # type: ignore[no-any-return]


@pytest.mark.parametrize("path", PATHS)
def test_a_connection_is_used_again_after_a_stream(server: Server, path: str) -> None:
    """Stream, stream, plain, stream over one pooled connection."""
    places = set()
    with httpx.Client(limits=httpx.Limits(max_connections=1)) as client:
        for stream in (True, True, False, True):
            reply = client.post(server.url + path, json=body(path, stream=stream))
            assert reply.status_code == 200
            assert "connection" not in reply.headers
            assert reply.content.endswith(LAST[path]) == stream or path == "/v1/responses"
            network = reply.extensions["network_stream"]
            places.add(network.get_extra_info("client_addr"))
    assert len(places) == 1


def test_an_error_leaves_the_connection_open_too(server: Server) -> None:
    with httpx.Client(limits=httpx.Limits(max_connections=1)) as client:
        places = {
            client.post(f"{server.url}/v1/messages", content=content)
            .extensions["network_stream"]
            .get_extra_info("client_addr")
            for content in (b"{", b'{"a":1}', json.dumps(body("/v1/messages")).encode())
        }
    assert len(places) == 1


def test_concurrent_streams_of_one_client_are_each_whole_and_their_own(server: Server) -> None:
    async def one(client: httpx.AsyncClient, name: str) -> str:
        text = ""
        asked = body("/v1/chat/completions", model=name, stream=True)
        async with client.stream(
            "POST", f"{server.url}/slow/v1/chat/completions", json=asked
        ) as reply:
            async for line in reply.aiter_lines():
                if line.startswith("data: {"):
                    delta = json.loads(line[6:])["choices"][0]["delta"]
                    text += delta.get("content") or ""
        return text

    async def all_of_them() -> list[str]:
        async with httpx.AsyncClient(timeout=20) as client:
            return await asyncio.gather(*(one(client, name) for name in names))

    names = [f"m{'x' * number}" for number in range(8)]
    assert asyncio.run(all_of_them()) == [f"{name} " * 10 for name in names]


@pytest.mark.parametrize("path", PATHS)
def test_a_client_that_leaves_mid_stream_stops_the_work_and_is_journaled_as_cancelled(
    server: Server, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = _counting(monkeypatch)
    run = f"left{path.count('m')}{len(path)}"
    with connect(server) as connection:
        ask(connection, f"/~{run}/huge{path}", body(path, stream=True))
        assert b" 200 " in connection.recv(1000)
    exchange = journaled(server, run)
    assert exchange.cancelled
    assert exchange.status == 200
    stopped_at = sent[0]
    assert stopped_at < WORDS / 2
    assert httpx.post(server.url + path, json=body(path)).status_code == 200
    assert sent[0] == stopped_at  # nothing of it goes on behind


def test_a_client_that_leaves_during_a_pause_is_noticed_at_once(server: Server) -> None:
    with connect(server) as connection:
        path = "/~pausing/slow;latency=30000/v1/chat/completions"
        ask(connection, path, body("/v1/chat/completions", stream=True))
    begun = time.monotonic()
    assert journaled(server, "pausing").cancelled
    assert time.monotonic() - begun < 5


def test_a_slow_reader_holds_up_only_its_own_stream(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = threading.Event()
    sent = _counting(monkeypatch, held)
    path = "/v1/chat/completions"
    with connect(server) as connection:
        ask(connection, f"/huge{path}", body(path, stream=True))
        connection.recv(100)
        assert held.wait(30)  # the server waits for the reader...
        assert httpx.post(server.url + path, json=body(path)).status_code == 200
        assert sent[0] < WORDS  # ...and does not heap up the rest
        received = b""
        while not received.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n"):
            received = received[-100:] + connection.recv(1 << 20)
    assert sent[0] > WORDS


def _counting(monkeypatch: pytest.MonkeyPatch, held: threading.Event | None = None) -> list[int]:
    """A counter of the pieces that streams have sent; `held` is set once one has to wait."""
    sent = [0]
    send_piece = application.send_piece

    async def counted(send: Any, data: bytes, more: bool = True) -> None:
        sent[0] += 1
        await _Watched(send_piece(send, data, more), held or threading.Event())

    monkeypatch.setattr(application, "send_piece", counted)
    return sent


class _Watched:
    """A coroutine, and an event that says that it was not done at once."""

    def __init__(self, coroutine: Coroutine[Any, Any, None], waits: threading.Event) -> None:
        self._coroutine = coroutine
        self._waits = waits

    def __await__(self) -> Iterator[Any]:
        for awaited in self._coroutine.__await__():
            self._waits.set()
            yield awaited


def test_a_reply_that_breaks_while_it_is_rendered_ends_the_stream_and_not_the_server(
    server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The client sees a broken stream and no traceback; the journal has the error."""

    def broken(conversation: Conversation, completion: Completion) -> str:
        raise RuntimeError("a defect")

    monkeypatch.setattr("fakeprovider.protocols.chat.rendering._finish_reason", broken)
    path = "/v1/chat/completions"
    with pytest.raises(httpx.RemoteProtocolError):
        httpx.post(f"{server.url}/~broken/plan{path}", json=body(path, stream=True))
    assert "a defect" not in caplog.text or "RuntimeError" in caplog.text
    assert "RuntimeError" in journaled(server, "broken").error
    monkeypatch.undo()
    assert httpx.post(server.url + path, json=body(path, stream=True)).status_code == 200


def test_many_clients_that_leave_at_once_leave_nothing_behind(server: Server) -> None:
    before = threading.active_count()
    path = "/v1/messages"
    for _ in range(20):
        with connect(server) as connection:
            ask(connection, f"/~crowd/huge{path}", body(path, stream=True))
            connection.recv(100)
    until(lambda: len(server.journal.exchanges("crowd")) == 20)
    assert all(one.cancelled for one in server.journal.exchanges("crowd"))
    assert threading.active_count() <= before
