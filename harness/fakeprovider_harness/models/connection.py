"""The sockets: one pool of kept-alive HTTP/1.1 connections to one service."""

from __future__ import annotations

import asyncio
import base64
import os
import re
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from functools import partial
from typing import NamedTuple
from urllib.request import getproxies

import httpx
import msgspec

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


class Timeouts(msgspec.Struct, frozen=True):
    """Seconds; None is no limit.

    `connect` bounds the TCP and TLS handshakes. `first` and `stall` belong to streams: from sending
    to the first event, and from one event to the next. Comments and other keep-alives are not
    events: they show that a proxy is alive, not that a model is writing. `total` bounds the whole
    request, and is all that bounds a reply sent whole, since nothing is to be seen of it before it
    is finished.
    """

    connect: float | None = 10.0
    first: float | None = 120.0
    stall: float | None = 60.0
    total: float | None = 600.0
