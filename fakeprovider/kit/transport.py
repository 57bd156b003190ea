"""The provider as an httpx transport: requests are answered in this process, without a socket."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from functools import cache
from typing import Any

import httpx

from fakeprovider.asgi import ASGIApp, Event, Scope
from fakeprovider.transport import EXTENSION


class InProcess(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Answers through an ASGI application, for sync and async clients alike.

    A body arrives whole, also a streamed one: timing and the ways in which a connection breaks
    need a socket. A reply that is cut off raises `httpx.RemoteProtocolError`.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """For `httpx.Client`."""
        request.read()
        return self._start(request, _Exchange(request)).result()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """For `httpx.AsyncClient`."""
        await request.aread()
        exchange = _Exchange(request)
        answer = asyncio.wrap_future(self._start(request, exchange))
        answer.add_done_callback(_retrieved)
        try:
            return await asyncio.shield(answer)
        except asyncio.CancelledError:
            _loop().call_soon_threadsafe(exchange.over.set)  # the client has left
            raise

    def _start(self, request: httpx.Request, exchange: _Exchange) -> Future[httpx.Response]:
        return asyncio.run_coroutine_threadsafe(self._answer(request, exchange), _loop())

    async def _answer(self, request: httpx.Request, exchange: _Exchange) -> httpx.Response:
        await self._app(exchange.scope, exchange.receive, exchange.send)
        if not exchange.whole:
            raise httpx.RemoteProtocolError("the reply was cut off", request=request)
        return httpx.Response(exchange.status, headers=exchange.headers, content=exchange.body)


class _Exchange:
    """What the application is given, and what it sends; `over` is set once the client has left."""

    def __init__(self, request: httpx.Request) -> None:
        self.over = asyncio.Event()
        self.scope = _scope(request, _Line(self.over))
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.body = b""
        self.whole = False
        self._asked: bytes | None = request.content

    async def receive(self) -> Event:
        if self._asked is not None:
            asked, self._asked = self._asked, None
            return {"type": "http.request", "body": asked, "more_body": False}
        await self.over.wait()
        return {"type": "http.disconnect"}

    async def send(self, event: Event) -> None:
        if event["type"] == "http.response.start":
            self.status, self.headers = event["status"], event["headers"]
            return
        self.body += event.get("body", b"")
        self.whole = not event.get("more_body", False)


class _Line(asyncio.Transport):
    """The connection that faults cut: cutting it is seen as the client's leaving."""

    def __init__(self, over: asyncio.Event) -> None:
        super().__init__()
        self._over = over

    def close(self) -> None:
        self._over.set()

    def abort(self) -> None:
        self._over.set()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default


def _scope(request: httpx.Request, line: asyncio.Transport) -> Scope:
    url = request.url
    return {
        "type": "http",
        "http_version": "1.1",
        "method": request.method,
        "scheme": "http",
        "path": url.path,
        "raw_path": url.raw_path.partition(b"?")[0],
        "query_string": url.query,
        "root_path": "",
        "headers": [(name.lower(), value) for name, value in request.headers.raw],
        "server": (url.host, url.port or 80),
        "client": ("127.0.0.1", 0),
        "extensions": {EXTENSION: line},
    }


def _retrieved(answer: asyncio.Future[httpx.Response]) -> None:
    """An answer that nobody waits for any more may fail in silence."""
    if not answer.cancelled():
        answer.exception()


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """The event loop that answers: in a thread of its own, so that callers may have theirs."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="fakeprovider-in-process", daemon=True).start()
    return loop
