"""The provider as an httpx transport: requests are answered in this process, without a socket."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

from fakeprovider.serving.asgi import TRANSPORT, ASGIApp, Event, Scope

_MOMENT = 1.0  # seconds in which the application notices that its client has left


class InProcess(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Answers through an ASGI application, for sync and async clients alike, from any thread.

    A body arrives whole, also a streamed one: timing and the ways in which a connection breaks
    need a socket. A reply that is cut off raises `httpx.RemoteProtocolError`. `lock` is held while
    the application is at work, so that it is never in two threads at once.
    """

    def __init__(self, app: ASGIApp, lock: threading.Lock) -> None:
        self._app = app
        self._lock = lock
        self._loops: dict[int, asyncio.AbstractEventLoop] = {}

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """For `httpx.Client`."""
        request.read()
        answer = self._answer(request, _Exchange(request))
        if not _in_loop():
            return self._loop().run_until_complete(answer)
        with ThreadPoolExecutor(1) as pool:  # a loop cannot run inside another
            return pool.submit(asyncio.run, answer).result()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """For `httpx.AsyncClient`."""
        await request.aread()
        exchange = _Exchange(request)
        answer = asyncio.ensure_future(self._answer(request, exchange))
        try:
            return await asyncio.shield(answer)
        except asyncio.CancelledError:  # the client leaves
            exchange.over.set()
            await asyncio.wait((answer,), timeout=_MOMENT)
            if answer.done() and not answer.cancelled():
                answer.exception()  # nobody else will look at it
            raise

    def end(self) -> None:
        """Close what was opened; no request may be under way."""
        for loop in self._loops.values():
            if not loop.is_running():
                loop.close()
        self._loops = {}

    def _loop(self) -> asyncio.AbstractEventLoop:
        """The event loop of this thread, kept from one request to the next."""
        me = threading.get_ident()
        loop = self._loops.get(me)
        if loop is None:
            loop = self._loops[me] = asyncio.new_event_loop()
        return loop

    async def _answer(self, request: httpx.Request, exchange: _Exchange) -> httpx.Response:
        await _Exclusive(self._app(exchange.scope, exchange.receive, exchange.send), self._lock)
        if not exchange.whole:
            raise httpx.RemoteProtocolError("the reply was cut off", request=request)
        return httpx.Response(exchange.status, headers=exchange.headers, content=exchange.body)


class _Exclusive:
    """A coroutine that holds a lock while it runs, and not while it waits."""

    def __init__(self, work: Awaitable[None], lock: threading.Lock) -> None:
        self._work = work.__await__()
        self._lock = lock

    def __await__(self) -> Generator[Any, Any, Any]:
        error: BaseException | None = None
        value = None
        while True:
            try:
                with self._lock:
                    waited_for = self._work.throw(error) if error else self._work.send(value)
            except StopIteration as ended:
                return ended.value
            error = None
            try:
                value = yield waited_for
            except BaseException as thrown:  # by the event loop: a cancellation
                error = thrown


class _Exchange:
    """What the application is given, and what it sends; `over` is set once the client has left."""

    def __init__(self, request: httpx.Request) -> None:
        self.over = asyncio.Event()
        self.scope = _scope(request, _Line(self.over))
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.body = b""
        self.whole = False
        self._unread: bytes | None = request.content

    async def receive(self) -> Event:
        if self._unread is not None:
            body, self._unread = self._unread, None
            return {"type": "http.request", "body": body, "more_body": False}
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
        "extensions": {TRANSPORT: line},
    }


def _in_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
