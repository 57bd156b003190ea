"""Bodies that are announced and do not come, are too large, or are something else than JSON."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
from collections.abc import Iterator

import httpx
import pytest

from fakeprovider.errors import ApiError
from fakeprovider.server import Server
from fakeprovider.serving.asgi import Event, discard_body, read_body

ENDPOINTS = ("chat/completions", "messages", "responses", "messages/count_tokens", "embeddings")
FINE = json.dumps({"model": "m", "messages": [{"role": "user", "content": "go"}]}).encode()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server that takes at most 1 kB, and waits a twentieth of a second for it."""
    with Server("plan", max_body=1000, body_timeout=0.05) as running:
        yield running


def told(server: Server, announced: str, sent: bytes, path: str = "/v1/chat/completions") -> str:
    """The whole reply to a request that announces one thing and sends another, to its end."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        head = f"POST {path} HTTP/1.1\r\nhost: x\r\n{announced}\r\n\r\n"
        connection.sendall(head.encode() + sent)
        reply = b""
        while piece := connection.recv(10_000):
            reply += piece
    return reply.decode()


@pytest.mark.parametrize("path", ENDPOINTS)
def test_a_body_that_never_comes_is_a_408_and_the_end_of_the_connection(
    server: Server, path: str
) -> None:
    """And the journal has it."""
    reply = told(server, "content-length: 100", b"{", f"/~late-{path.replace('/', '-')}/v1/{path}")
    assert reply.startswith("HTTP/1.1 408 Request Timeout\r\n")
    assert "connection: close" in reply
    assert "The body had not come within 0.05 s" in reply
    assert "--body-timeout" in reply
    exchange = server.journal.exchanges(f"late-{path.replace('/', '-')}")[0]
    assert (exchange.status, exchange.code) == (408, "request_timeout")


def test_a_body_that_drips_for_ever_is_a_408() -> None:
    """The time is for the whole body, so that a byte now and then does not prolong it."""

    async def drips() -> Event:
        await asyncio.sleep(0)
        return {"type": "http.request", "body": b"", "more_body": True}

    with pytest.raises(ApiError, match=r"had not come within 0.01 s") as refused:
        asyncio.run(read_body(drips, 1000, seconds=0.01))
    assert refused.value.status == 408


def test_a_body_that_is_announced_too_large_is_refused_unread() -> None:
    """Without a look at what came of it."""

    async def never() -> Event:
        raise AssertionError("it was read")

    with pytest.raises(ApiError, match="over the limit of 1,000 bytes") as refused:
        asyncio.run(read_body(never, 1000, declared=1001))
    assert refused.value.status == 413


@pytest.mark.parametrize("more", ["", "\r\nexpect: 100-continue"], ids=["sends", "asks first"])
def test_a_body_that_is_announced_too_large_is_a_413_at_once(server: Server, more: str) -> None:
    """One byte of ten thousand million is enough, or none; nobody is told to go on."""
    reply = told(server, f"content-length: 10000000000{more}", b"" if more else b"{")
    assert reply.startswith("HTTP/1.1 413 ")
    assert "over the limit of 1,000 bytes" in reply


def test_chunks_without_an_end_are_a_413_once_they_are_too_many(server: Server) -> None:
    """Nothing announces their size, and the last of them never comes."""
    reply = told(server, "transfer-encoding: chunked", b"3e9\r\n" + b"x" * 1001 + b"\r\n")
    assert reply.startswith("HTTP/1.1 413 ")


@pytest.mark.parametrize("left", [0, 5], ids=["no end", "an end"])
def test_what_is_thrown_away_has_an_end(left: int) -> None:
    """The body's own, or sixteen times the limit."""
    came: list[int] = []

    async def receive() -> Event:
        came.append(1000)
        return {"type": "http.request", "body": b"x" * 1000, "more_body": len(came) != left}

    asyncio.run(discard_body(receive, 1000, seconds=30))
    assert len(came) == (left or 16)


@pytest.mark.parametrize("path", ENDPOINTS)
@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"\xef\xbb\xbf" + FINE, "byte order mark (EF BB BF). Send JSON in UTF-8 without one."),
        (FINE.decode().encode("utf-16"), "UTF-16 (FF FE). Send JSON in UTF-8, without a mark."),
        (gzip.compress(FINE), "gzip (1F 8B). Send the JSON itself, not compressed."),
        (b"\x28\xb5\x2f\xfd" + FINE, "zstd (28 B5 2F FD). Send the JSON itself, not compressed."),
    ],
    ids=["mark", "utf-16", "gzip", "zstd"],
)
def test_a_body_that_is_no_plain_json_is_named(
    server: Server, http: httpx.Client, path: str, body: bytes, message: str
) -> None:
    reply = http.post(f"{server.base_url}/{path}", content=body)
    assert reply.status_code == 400
    assert reply.json()["error"]["message"].endswith(message)


@pytest.mark.parametrize("path", ENDPOINTS)
def test_a_content_encoding_is_a_415(server: Server, http: httpx.Client, path: str) -> None:
    """It names what was found and what to do; `identity` is no encoding."""
    packed = gzip.compress(FINE)
    reply = http.post(
        f"{server.base_url}/{path}", content=packed, headers={"content-encoding": "GZip"}
    )
    assert (reply.status_code, reply.headers["accept-encoding"]) == (415, "identity")
    assert reply.json()["error"]["message"] == (
        "Unsupported content encoding 'gzip'; send the JSON as it is, without 'content-encoding'."
    )
    plain = http.post(
        f"{server.base_url}/{path}", content=FINE, headers={"content-encoding": "identity"}
    )
    assert plain.status_code in (200, 400)
    assert "encoding" not in plain.text
