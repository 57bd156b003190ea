"""A load generator that costs little: prepared requests over a few keep-alive connections."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import cast

CONNECTIONS = 8


class LoadFailed(RuntimeError):
    """A server answered something else than 200, or closed a connection."""


def request_bytes(path: str, body: bytes) -> bytes:
    """A POST as it goes over the wire."""
    head = (
        f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        f"authorization: Bearer none\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class _Client(asyncio.Protocol):
    """Sends the next request as soon as the last one is answered."""

    def __init__(self, following: Callable[[], bytes | None]) -> None:
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._following = following
        self._buffer = b""
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)  # uvloop's is none by class
        self._send()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, found, body = self._buffer.partition(b"\r\n\r\n")
        if found and len(body) >= _length(head):
            self._buffer = b""
            if not head.startswith(b"HTTP/1.1 200"):
                self._fail(head + b" " + body)
                return
            self._send()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self._fail(b"connection closed")

    def _send(self) -> None:
        assert self._transport is not None
        request = self._following()
        if request is None:
            self.done.set_result(None)
            self._transport.close()
        else:
            self._transport.write(request)

    def _fail(self, what: bytes) -> None:
        if not self.done.done():
            self.done.set_exception(LoadFailed(what[:500].decode(errors="replace")))


def _length(head: bytes) -> int:
    _, _, rest = head.lower().partition(b"content-length:")
    return int(rest.partition(b"\r\n")[0])


def requests_per_second(
    port: int, requests: Iterator[bytes], *, seconds: float, warm: int = 0
) -> float:
    """How many of `requests` are answered per second, for `seconds` or until they run out."""
    return _new_runner().run(_load(port, requests, seconds, warm))


async def _load(port: int, requests: Iterator[bytes], seconds: float, warm: int) -> float:
    await _drive(port, islice(requests, warm), time.perf_counter() + 60)
    begun = time.perf_counter()
    sent = await _drive(port, requests, begun + seconds)
    return sent / (time.perf_counter() - begun)


async def _drive(port: int, requests: Iterator[bytes], until: float) -> int:
    sent = 0

    def following() -> bytes | None:
        nonlocal sent
        request = next(requests, None) if time.perf_counter() < until else None
        sent += request is not None
        return request

    loop = asyncio.get_running_loop()
    clients = []
    for _ in range(CONNECTIONS):
        _, client = await loop.create_connection(lambda: _Client(following), "127.0.0.1", port)
        clients.append(client)
    async with asyncio.timeout_at(loop.time() + 60):
        await asyncio.gather(*(client.done for client in clients))
    return sent


def _new_runner() -> asyncio.Runner:
    try:
        import uvloop
    except ImportError:
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)
