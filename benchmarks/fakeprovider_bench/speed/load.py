"""A load generator that costs little: prepared requests over a few keep-alive connections."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

from fakeprovider_bench.speed.processes import Measured

CONNECTIONS = 8
_PATIENCE = 600  # seconds for requests that run out by themselves


class LoadFailed(RuntimeError):
    """A server answered something else than 200, or closed a connection."""


@dataclass(frozen=True)
class Load:
    """What a server bore: requests, and the seconds and processor seconds that they took."""

    requests: int
    seconds: float
    cpu_seconds: float

    @property
    def rate(self) -> float:
        """Requests per second."""
        return self.requests / self.seconds

    @property
    def cpu_us(self) -> float:
        """Microseconds of the server's processor time per request."""
        return 1e6 * self.cpu_seconds / max(1, self.requests)


def request_bytes(path: str, body: bytes) -> bytes:
    """A POST as it goes over the wire."""
    head = (
        f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        f"authorization: Bearer none\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def bear(server: Measured, requests: Iterator[bytes], seconds: float = _PATIENCE) -> Load:
    """Send `requests` one after the other per connection, for `seconds` or until they run out."""
    with _new_runner() as runner:
        cpu, begun = server.cpu_seconds(), time.perf_counter()
        sent = runner.run(_drive(server.port, requests, begun + seconds))
        took = time.perf_counter() - begun
    return Load(sent, took, server.cpu_seconds() - cpu)


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
        head, separator, body = self._buffer.partition(b"\r\n\r\n")
        if separator and len(body) >= _length(head):
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
    async with asyncio.timeout(2 * _PATIENCE):
        await asyncio.gather(*(client.done for client in clients))
    return sent


def _new_runner() -> asyncio.Runner:
    try:
        import uvloop
    except ImportError:
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)
