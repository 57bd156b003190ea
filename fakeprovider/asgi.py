"""The few parts of ASGI that are used here: types, reading a request, sending a reply."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, MutableMapping
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

_JSON_HEADER = (b"content-type", b"application/json")
_SSE_HEADERS: Headers = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
]
_DISCARD = 16  # times the limit that is read and thrown away so that the client sees the 413


class ClientLeft(Exception):
    """The client closed the connection before its request was read."""


@dataclass(frozen=True, slots=True)
class Head:
    """What is read of a request's headers.

    `strange_type` is a content type that is not JSON, `run` the run key of `x-fake-run`, `attempt`
    the SDK's own retry count, `counts` whether it sent one, `agent` the name of the header by which
    a client marks a sub-agent's request.
    """

    strange_type: str = ""
    run: str = ""
    attempt: int = 0
    counts: bool = False
    agent: str = ""


def read_head(headers: Headers) -> Head:
    """The headers that matter; the last of a name counts."""
    return _head(tuple([header for header in headers if header[0] in _READ]))


@lru_cache(maxsize=1024)
def _head(headers: tuple[tuple[bytes, bytes], ...]) -> Head:
    found = {name: value.decode("latin-1") for name, value in headers}
    kind = found.get(b"content-type", "").partition(";")[0].strip().lower()
    retries = found.get(b"x-stainless-retry-count", "")
    return Head(
        strange_type="" if kind == "application/json" or kind.endswith("+json") else kind,
        run=found.get(b"x-fake-run", ""),
        attempt=int(retries) if _COUNT.fullmatch(retries) else 0,
        counts=bool(retries),
        agent=next((name.decode() for name in _SUB_AGENT if name in found), ""),
    )


_COUNT = re.compile(r"[0-9]{1,9}")

_SUB_AGENT = (b"x-claude-code-agent-id", b"x-claude-code-parent-agent-id")
_READ = frozenset({b"content-type", b"x-fake-run", b"x-stainless-retry-count", *_SUB_AGENT})


async def read_body(receive: Receive, limit: int) -> bytes:
    """The whole body; raises `ApiError` (413) over `limit` bytes and `ClientLeft`."""
    event = await receive()
    if event["type"] == "http.disconnect":
        raise ClientLeft
    body: bytes = event.get("body", b"")
    if event.get("more_body", False):
        body = await _read_on(receive, body, limit)
    if len(body) > limit:
        raise _too_large(limit)
    return body


async def _read_on(receive: Receive, first: bytes, limit: int) -> bytes:
    chunks, size, more = [first], len(first), True
    while more:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise ClientLeft
        more = event.get("more_body", False)
        size += len(event.get("body", b""))
        if size > limit * _DISCARD:
            raise _too_large(limit)
        if size <= limit:
            chunks.append(event.get("body", b""))
    if size > limit:
        raise _too_large(limit)
    return b"".join(chunks)


def _too_large(limit: int) -> ApiError:
    return ApiError(
        413,
        f"The body is over the limit of {limit:,} bytes. Send less, or start the server with a "
        "larger --max-body.",
        kind="too_large",
        code="request_too_large",
        headers=(("connection", "close"),),
    )


@lru_cache(maxsize=1024)
def _encoded(headers: tuple[tuple[str, str], ...]) -> Headers:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]


async def send_whole(
    send: Send, body: bytes, status: int = 200, headers: tuple[tuple[str, str], ...] = ()
) -> None:
    """A JSON reply in one piece."""
    await send_both(send, whole(body, status, headers))


def whole(
    body: bytes, status: int = 200, headers: tuple[tuple[str, str], ...] = ()
) -> tuple[Event, Event]:
    """The two events of a JSON reply in one piece."""
    sent = [_JSON_HEADER, (b"content-length", b"%d" % len(body)), *_encoded(headers)]
    start = {"type": "http.response.start", "status": status, "headers": sent}
    return start, {"type": "http.response.body", "body": body}


async def send_both(send: Send, events: tuple[Event, Event]) -> None:
    """Send a reply in one piece."""
    start, body = events
    await send(start)
    await send(body)


async def start_stream(send: Send, headers: tuple[tuple[str, str], ...] = ()) -> None:
    """The head of a reply of server-sent events."""
    sent = [*_SSE_HEADERS, *_encoded(headers)]
    await send({"type": "http.response.start", "status": 200, "headers": sent})


async def send_piece(send: Send, data: bytes, more: bool = True) -> None:
    """One piece of a streamed body, flushed."""
    await send({"type": "http.response.body", "body": data, "more_body": more})
