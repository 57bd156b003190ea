"""One request and its answer, whole or streamed, in time or not; and the connection under it."""

from __future__ import annotations

import asyncio
import base64
import os
import re
import ssl
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import NamedTuple
from urllib.request import getproxies

import httpx
import msgspec

from fakeprovider_harness.cancel import SignalFired, unless
from fakeprovider_harness.models.base import (
    CancelSignal,
    Counts,
    ModelCancelled,
    ModelError,
    ModelReply,
    Timeouts,
    Usage,
    inclusive,
)
from fakeprovider_harness.models.errors import Unreadable, describe, status_error
from fakeprovider_harness.models.sse import Event, SSEParser
from fakeprovider_harness.models.wire import mend

AFTER_FINISH = 5.0
"""Seconds that a stream may stay open after its finish reason, for the usage to arrive."""

AFTER_END = 0.05
"""Seconds for the server to end its body after the last event, so that the socket is reused."""

LARGEST = 256 * 1024 * 1024
"""Bytes that an answer may have: the longest replies of today's models, streamed with a token per
event, have a fifth of it."""

_ERROR_BYTES = 65_536


class Assembler(ABC):
    """Events of one dialect on their way to one reply.

    `made_up` begins the ids of calls that come without one; `on_text` gets each piece of text.
    `ended` says that the dialect's last event was seen, so that nothing more is coming.
    """

    def __init__(self, made_up: str, on_text: Callable[[str], None] | None = None) -> None:
        self._made_up = made_up
        self._on_text = on_text
        self._counts = Counts()
        self._model: str | None = None
        self._begun = False
        self.ended = False

    @property
    @abstractmethod
    def complete(self) -> bool:
        """Whether what is there is a whole reply, even if the stream ended now."""

    @abstractmethod
    def feed(self, event: Event) -> None:
        """Take one event; raise `ModelError` for an error, `Unreadable` for nonsense."""

    @abstractmethod
    def take(self, data: bytes) -> None:
        """Take one whole JSON answer instead of events."""

    @abstractmethod
    def reply(self) -> ModelReply:
        """The whole reply; raise `Unreadable` where it makes no sense."""

    @abstractmethod
    def partial(self) -> ModelReply:
        """What has been received so far, for the bill: never raises."""

    def _say(self, text: str) -> None:
        """Hand a piece of text to whoever listens."""
        if text and self._on_text:
            self._on_text(mend(text))

    def _usage(self, prompt: int, completion: int) -> tuple[Usage, tuple[str, ...]]:
        """The usage with what was counted of the cache and of reasoning, and what was odd."""
        counted = {name: self._counts.get(key) or 0 for name, key in _DETAILS.items()}
        return inclusive(prompt, completion, **counted)


_DETAILS = {
    "cached": "cached_tokens",
    "written": "cache_write_tokens",
    "reasoning": "reasoning",
}


class Exchange:
    """Runs once. Whether the answer is whole or a stream is decided by its content type, not by
    what was asked for; `stream` only says which timeouts hold until it comes.
    """

    def __init__(
        self,
        connection: Connection,
        timeouts: Timeouts,
        assembler: Assembler,
        *,
        stream: bool,
        largest: int | None = LARGEST,
    ) -> None:
        self._connection = connection
        self._timeouts = timeouts
        self._assembler = assembler
        self._stream = stream
        self._largest = largest
        self._sent = False
        self._events = 0
        self._timer: asyncio.Timeout
        self._end = float("inf")

    @property
    def partial(self) -> ModelReply | None:
        """What the provider may charge for so far; None while nothing can have been sent."""
        return self._assembler.partial() if self._sent else None

    async def run(self, body: bytes, cancel: CancelSignal | None) -> ModelReply:
        """Send `body` and return the reply; raise `ModelError` or `ModelCancelled`."""
        try:
            return await unless(cancel, self._guarded(body))
        except SignalFired:
            raise ModelCancelled(partial=self.partial) from None

    async def _guarded(self, body: bytes) -> ModelReply:
        """One clock for every phase, and one error for whatever the network does."""
        self._start_clock()
        try:
            async with self._timer:
                return await self._converse(body)
        except TimeoutError:
            return self._or_partial(self._too_slow())
        except httpx.TransportError as error:
            return self._or_partial(f"connection failed: {str(error) or type(error).__name__}")
        except httpx.DecodingError as error:
            return self._or_partial(f"undecodable answer: {error}")

    def _start_clock(self) -> None:
        now = asyncio.get_running_loop().time()
        if self._timeouts.total is not None:
            self._end = now + self._timeouts.total
        first = self._timeouts.first if self._stream else None
        self._timer = asyncio.timeout_at(self._deadline(now, first))

    def _deadline(self, now: float, seconds: float | None) -> float | None:
        end = self._end if seconds is None else min(self._end, now + seconds)
        return None if end == float("inf") else end

    async def _converse(self, body: bytes) -> ModelReply:
        try:
            self._sent = True
            response = await self._connection.post(body)
        except (httpx.ConnectError, httpx.ConnectTimeout):
            self._sent = False
            raise
        try:
            if response.status_code != 200:
                raise await self._refusal(response)
            if self._is_stream(response):
                return await self._read_events(response)
            return self._decode(await self._read_whole(response))
        finally:
            await response.aclose()

    async def _refusal(self, response: httpx.Response) -> ModelError:
        self._sent = False
        body = b""
        with suppress(httpx.TransportError):  # the status says enough
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > _ERROR_BYTES:
                    break
        return status_error(response.status_code, response.headers, body)

    def _is_stream(self, response: httpx.Response) -> bool:
        kind = response.headers.get("content-type", "").lower()
        return kind.startswith("text/event-stream") or (self._stream and not kind)

    def _decode(self, body: bytes) -> ModelReply:
        try:
            self._assembler.take(body)
            return self._assembler.reply()
        except (msgspec.MsgspecError, Unreadable) as error:
            text = describe(body)[0][:200]
            raise self._broken(f"unreadable reply ({error}): {text}") from error

    async def _read_whole(self, response: httpx.Response) -> bytes:
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if self._exceeds(len(body)):
                raise self._too_large(ModelReply(body.decode("utf-8", "replace")))
        return bytes(body)

    async def _read_events(self, response: httpx.Response) -> ModelReply:
        parser, size = SSEParser(), 0
        async for chunk in response.aiter_bytes():
            size += len(chunk)
            if self._exceeds(size):
                raise self._too_large(self._assembler.partial())
            self._take(parser.feed(chunk))
        self._take(parser.close())
        return self._or_partial("the stream ended before the reply did")

    def _take(self, events: list[Event]) -> None:
        if not events or self._assembler.ended:
            return
        for event in events:
            if not self._assembler.ended:
                self._feed(event)
        self._events += len(events)
        self._timer.reschedule(self._deadline(asyncio.get_running_loop().time(), self._patience()))

    def _feed(self, event: Event) -> None:
        try:
            self._assembler.feed(event)
        except (msgspec.MsgspecError, Unreadable) as error:
            text = event.data[:200].decode("utf-8", "replace")
            raise self._broken(f"unreadable event ({error}): {text}") from error

    def _patience(self) -> float | None:
        if self._assembler.ended:
            return AFTER_END
        stall = self._timeouts.stall
        if self._assembler.complete:
            return AFTER_FINISH if stall is None else min(AFTER_FINISH, stall)
        return stall

    def _or_partial(self, trouble: str) -> ModelReply:
        """A reply that had come to its end is whole whatever happened to the socket after it."""
        if not self._assembler.complete:
            raise self._broken(trouble)
        try:
            return self._assembler.reply()
        except Unreadable as error:
            raise self._broken(f"unreadable reply ({error})") from error

    def _too_slow(self) -> str:
        now, limits = asyncio.get_running_loop().time(), self._timeouts
        if now >= self._end:
            return f"timeout: no whole reply within {limits.total} s"
        if self._events:
            return f"timeout: the stream was silent for {limits.stall} s"
        return f"timeout: no first event within {limits.first} s"

    def _exceeds(self, size: int) -> bool:
        return self._largest is not None and size > self._largest

    def _too_large(self, partial: ModelReply) -> ModelError:
        """Not to be asked for again: it was paid for, and would be as large."""
        return ModelError(f"the reply has more than {self._largest:,} bytes", partial=partial)

    def _broken(self, message: str) -> ModelError:
        return ModelError(message, retryable=True, partial=self.partial)


_LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=100, keepalive_expiry=30)
_LOOPBACK = {"127.0.0.1", "::1", "localhost"}


Send = Callable[[httpx.Request], Awaitable[httpx.Response]]


class _Pool(NamedTuple):
    owner: AsyncGenerator[Send, None]
    send: Send


class Connection:
    """Posts bytes to one URL.

    Each event loop has a pool of its own, so that runs in several threads may share a client. It
    opens on first use and is closed by `aclose`, by the end of `asyncio.run`, or with the last
    reference to this object. A name and password in the URL are sent as basic authentication, in
    place of a key. Proxies from the environment are used, except for loopback addresses. Redirects
    are not followed: a key must not travel to another host.
    """

    def __init__(
        self,
        url: httpx.URL,
        headers: Mapping[str, str],
        *,
        connect_timeout: float | None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.url = url.copy_with(userinfo=b"")
        self._headers = httpx.Headers({"content-type": "application/json", **headers})
        self._headers.update(_credentials(url))
        # reading has its own clock, which knows what an event is: see exchange.py
        self._timeout = httpx.Timeout(None, connect=connect_timeout).as_dict()
        self._transport = transport
        self._pools: dict[asyncio.AbstractEventLoop, _Pool] = {}

    async def post(self, body: bytes) -> httpx.Response:
        """Send one request and return when the headers of the answer are there."""
        send = await self._open()
        request = httpx.Request(
            "POST",
            self.url,
            headers=self._headers,
            content=body,
            extensions={"timeout": self._timeout},
        )
        return await send(request)

    async def aclose(self) -> None:
        """Close the sockets that are open in this event loop."""
        pool = self._pools.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            await pool.owner.aclose()

    async def _open(self) -> Send:
        loop = asyncio.get_running_loop()
        pool = self._pools.get(loop)
        if pool is None:
            for ended in [other for other in tuple(self._pools) if other.is_closed()]:
                self._pools.pop(ended, None)
            owner = self._senders()
            pool = self._pools[loop] = _Pool(owner, await anext(owner))
        return pool.send

    async def _senders(self) -> AsyncGenerator[Send, None]:
        # a generator, because event loops close those that are still open when they end
        if self._transport is None and self.url.host not in _LOOPBACK and getproxies():
            async with httpx.AsyncClient(limits=_LIMITS, verify=_tls(self.url)) as client:
                yield partial(client.send, stream=True)
        else:  # what a client does beside is a tenth of the time of a turn on loopback
            transport = self._transport or httpx.AsyncHTTPTransport(
                limits=_LIMITS, verify=_tls(self.url)
            )
            async with transport:
                yield transport.handle_async_request


def _credentials(url: httpx.URL) -> dict[str, str]:
    if not url.userinfo:
        return {}
    pair = f"{url.username}:{url.password}".encode()
    return {"authorization": f"Basic {base64.b64encode(pair).decode()}"}


def _tls(url: httpx.URL) -> ssl.SSLContext | bool:
    # reading the certificates costs more than a whole run on loopback; this context trusts nobody
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if url.scheme == "http" else True


_VERSION = re.compile(r"v\d+[a-z\d]*")


def endpoint(base_url: str | None, path: str) -> httpx.URL:
    """The URL of `path` ("chat/completions") under a base that may or may not end in `/v1`.

    The base is `base_url`, else the environment's `LLM_BASE_URL`. A version segment anywhere in it
    (`/v1`, `/api/v4`, `/v1beta/openai`) is respected, a query string is kept. Raises ValueError
    where no base is known: nothing is ever sent to a paid service by default.
    """
    base = base_url or os.environ.get("LLM_BASE_URL")
    if not base:
        raise ValueError("no base URL: pass base_url=… or set LLM_BASE_URL (http://127.0.0.1:8000)")
    try:
        url = httpx.URL(base)
    except httpx.InvalidURL as error:
        raise ValueError(f"base URL {base!r} is none: {error}") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise ValueError(f"base URL {base!r} is not an http(s) URL, such as http://127.0.0.1:8000")
    root = url.path.rstrip("/")
    if root.endswith("/" + path):
        return url
    if not any(_VERSION.fullmatch(part) for part in root.split("/")):
        root += "/v1"
    return url.copy_with(path=f"{root}/{path}")


def api_key(key: str | None, *names: str) -> str | None:
    """The key: `key`, else the first of `LLM_API_KEY` and `names` that the environment has."""
    key = key or next((v for n in ("LLM_API_KEY", *names) if (v := os.environ.get(n))), "")
    return key.strip() or None  # keys read from files end in a newline, which no header may hold
