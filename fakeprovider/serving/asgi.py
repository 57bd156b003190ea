"""The few parts of ASGI that are used here: types, reading a request, sending a reply."""

from __future__ import annotations

import asyncio
import contextlib
import re
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator, MutableMapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from fakeprovider.errors import ApiError

Scope: TypeAlias = MutableMapping[str, Any]
Event: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Event]]
Send: TypeAlias = Callable[[Event], Awaitable[None]]
ASGIApp: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers: TypeAlias = list[tuple[bytes, bytes]]

TRANSPORT = "fakeprovider.delivery.transport"
"""Where the `asyncio.Transport` of a connection stands in a scope's `extensions`."""

_JSON_HEADER = (b"content-type", b"application/json")
_SSE_HEADERS: Headers = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
]
_DISCARD = 16  # times the limit that is read and thrown away so that the client sees the 413

BODY_TIMEOUT = 60.0
"""Seconds in which a request body must have come, unless told otherwise: nginx's usual wait."""


class ClientLeft(Exception):
    """The client closed the connection before its request was read."""


@dataclass(frozen=True, slots=True)
class Head:
    """What is read of a request's headers.

    `strange_type` is a content type that is not JSON, `encoding` one that packs the body (gzip),
    `run` the run key of `x-fake-run`, `attempt` the SDK's own retry count, `counts` whether it sent
    one, `agent` the name of the header by which a client marks a sub-agent's request.
    """

    strange_type: str = ""
    encoding: str = ""
    run: str = ""
    attempt: int = 0
    counts: bool = False
    agent: str = ""


def read_head(headers: Headers) -> Head:
    """The headers that matter; the last of a name counts."""
    return _head(tuple([header for header in headers if header[0] in _READ]))


@lru_cache(maxsize=1024)
def _head(headers: tuple[tuple[bytes, bytes], ...]) -> Head:
    values = {name: value.decode("latin-1") for name, value in headers}
    kind = values.get(b"content-type", "").partition(";")[0].strip().lower()
    packed = values.get(b"content-encoding", "").strip().lower()
    retries = values.get(b"x-stainless-retry-count", "")
    return Head(
        strange_type="" if kind == "application/json" or kind.endswith("+json") else kind,
        encoding="" if packed == "identity" else packed,
        run=values.get(b"x-fake-run", ""),
        attempt=int(retries) if _COUNT.fullmatch(retries) else 0,
        counts=bool(retries),
        agent=next((name.decode() for name in _SUB_AGENT if name in values), ""),
    )


_COUNT = re.compile(r"[0-9]{1,9}")

_SUB_AGENT = (b"x-claude-code-agent-id", b"x-claude-code-parent-agent-id")
_READ = frozenset(
    {
        b"content-type",
        b"content-encoding",
        b"x-fake-run",
        b"x-stainless-retry-count",
        *_SUB_AGENT,
    }
)


def transport_of(scope: Scope) -> asyncio.Transport | None:
    """The connection under a request; None under another server than ours."""
    extensions = scope.get("extensions") or {}
    transport: asyncio.Transport | None = extensions.get(TRANSPORT)
    return transport


def declared_length(headers: Headers) -> int:
    """The bytes of body that a request announces; 0 if it does not say. The server checked it."""
    return int(next((value for name, value in headers if name == b"content-length"), b"0"))


async def read_body(
    receive: Receive, limit: int, *, declared: int = 0, seconds: float = BODY_TIMEOUT
) -> bytes:
    """The whole body.

    Raises `ApiError` (413) as soon as more than `limit` bytes are announced or there, and (408) if
    it is not there within `seconds`; raises `ClientLeft`.
    """
    if declared > limit:
        raise _too_large(limit)
    reading = _read(receive, limit)
    try:
        waiting = reading.send(None)
    except StopIteration as done:  # it was there: a timer would have cost more than all of this
        whole: bytes = done.value
        return whole
    try:
        async with asyncio.timeout(seconds):
            return await _resumed(reading, waiting)
    except TimeoutError:
        raise _too_late(seconds) from None


@types.coroutine
def _resumed(begun: Coroutine[Any, None, bytes], waiting: object) -> Generator[Any, None, bytes]:
    """Await a coroutine that was begun by hand and waits for something."""
    try:
        yield waiting
    except BaseException:
        begun.close()
        raise
    whole: bytes = yield from begun
    return whole


async def _read(receive: Receive, limit: int) -> bytes:
    chunks: list[bytes] = []
    remaining, more = limit, True
    while more:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise ClientLeft
        chunk, more = event.get("body", b""), event.get("more_body", False)
        remaining -= len(chunk)
        if remaining < 0:
            raise _too_large(limit)
        chunks.append(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


async def discard_body(receive: Receive, limit: int, *, seconds: float = BODY_TIMEOUT) -> None:
    """Read on and throw away, so that a client that still sends sees the refusal that it has got.

    Ends with the body or the connection, at several times `limit`, or after `seconds`.
    """
    remaining, more = limit * _DISCARD, True
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while more and remaining > 0:
                event = await receive()
                remaining -= len(event.get("body", b""))
                more = event.get("more_body", False)


def _too_large(limit: int) -> ApiError:
    return ApiError(
        413,
        f"The body is over the limit of {limit:,} bytes. Send less, or start the server with a "
        "larger --max-body.",
        kind="too_large",
        code="request_too_large",
        headers=_CLOSE,
    )


def _too_late(seconds: float) -> ApiError:
    return ApiError(
        408,
        f"The body had not come within {seconds:g} s. Send as many bytes as 'content-length' says, "
        "or start the server with a longer --body-timeout.",
        code="request_timeout",
        headers=_CLOSE,
    )


_CLOSE = (("connection", "close"),)


@lru_cache(maxsize=1024)
def _encoded(headers: tuple[tuple[str, str], ...]) -> Headers:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]


async def send_whole(
    send: Send,
    body: bytes,
    status: int = 200,
    headers: tuple[tuple[str, str], ...] = (),
    more: bool = False,
) -> None:
    """A JSON reply in one piece; with `more` an empty one must follow, which ends it."""
    start, content = whole(body, status, headers)
    await send_both(send, (start, {**content, "more_body": more}))


def whole(
    body: bytes, status: int = 200, headers: tuple[tuple[str, str], ...] = ()
) -> tuple[Event, Event]:
    """The two events of a JSON reply in one piece."""
    sent = [_JSON_HEADER, (b"content-length", b"%d" % len(body)), *_encoded(headers)]
    start = {"type": "http.response.start", "status": status, "headers": sent}
    return start, {"type": "http.response.body", "body": body}


async def send_both(send: Send, events: tuple[Event, Event]) -> None:
    """Send copies, since what stands around an application may change what it is given."""
    start, body = events
    await send({**start, "headers": [*start["headers"]]})
    await send({**body})


async def start_stream(send: Send, headers: tuple[tuple[str, str], ...] = ()) -> None:
    """The head of a reply of server-sent events."""
    sent = [*_SSE_HEADERS, *_encoded(headers)]
    await send({"type": "http.response.start", "status": 200, "headers": sent})


async def send_piece(send: Send, data: bytes, more: bool = True) -> None:
    """One piece of a streamed body, flushed."""
    await send({"type": "http.response.body", "body": data, "more_body": more})
