"""The provider over HTTP: an ASGI application that journals every exchange.

Requests to a dialect's endpoints are answered here, without a router in between: this is the hot
path. Everything else goes to the pages.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple, TypeAlias, TypeVar

from fakeprovider.completion import Completion
from fakeprovider.delivery.schedule import delivery
from fakeprovider.delivery.sender import Sender
from fakeprovider.delivery.steps import Step
from fakeprovider.errors import ApiError
from fakeprovider.faults import NONE
from fakeprovider.journal import Exchange, Journal, exchange_of
from fakeprovider.parsing.caches import LONGEST, ByteBoundedCache
from fakeprovider.protocols.dialect import Aside, Frame, by_endpoint
from fakeprovider.scripts import Script, is_builtin
from fakeprovider.serving.asgi import (
    ASGIApp,
    ClientLeft,
    Event,
    Head,
    Receive,
    Scope,
    Send,
    declared_length,
    discard_body,
    read_body,
    read_head,
    send_both,
    send_piece,
    send_whole,
    start_stream,
    transport_of,
    whole,
)
from fakeprovider.serving.auth import check_key
from fakeprovider.serving.pages import pages
from fakeprovider.serving.provider import LONG, Provider
from fakeprovider.serving.request_context import RequestContext, WireRequest
from fakeprovider.serving.routing import Route, resolve

_log = logging.getLogger("fakeprovider")
_T = TypeVar("_T")

_YIELD_EVERY = 64  # frames between two chances for others, and to see that the client left
_REPLIES = 8 << 20  # bytes of replies that are remembered

ReplyKey: TypeAlias = tuple[str, Head, bytes]
"""The path, the headers and the body of a request."""


class RepeatedReply(NamedTuple):
    """A whole reply that goes out again when its request comes again, alike to the last byte.

    `named` is the script that was asked for beside the model, `script` what answered, `events` what
    was sent, `exchange` what the journal has of it.
    """

    named: str
    script: Script
    events: tuple[Event, Event]
    exchange: Exchange


class App:
    """The ASGI application of one provider and its journal."""

    def __init__(self, provider: Provider, journal: Journal) -> None:
        self.provider = provider
        self.journal = journal
        self.settings = provider.settings
        self._long = asyncio.Lock()
        self._dialects = by_endpoint()
        self._routes: ByteBoundedCache[str, Route] = ByteBoundedCache(1 << 20)
        self._replies: ByteBoundedCache[ReplyKey, RepeatedReply] = ByteBoundedCache(_REPLIES)
        self._pages: ASGIApp = pages(provider, journal)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, and journal it."""
        if scope["type"] != "http":
            return
        path = scope["raw_path"].decode("latin-1")
        route = self._route(path)
        if route is None:
            await self._pages(scope, receive, send)
            return
        dialect, head = self._dialects[route.endpoint], read_head(scope["headers"])
        transport = transport_of(scope)
        wire = WireRequest(dialect, route, head, scope["method"], path, time.time(), transport)
        request = RequestContext(wire)
        try:
            await self._read(request, scope, receive)
            await self._reply(request, receive, send)
        except ApiError as error:
            request.error = error
            await self._refuse(request, receive, send)
        except ClientLeft:
            request.sending.cancelled = True
        except Exception as error:
            _log.exception("%s %s failed", wire.method, path)
            request.error = _unforeseen(error)
            await self._refuse(request, receive, send)
        self._record(request)

    def _route(self, path: str) -> Route | None:
        route = self._routes.get(path)
        if route is None:
            route = resolve(path, self._dialects)
            if route is not None:
                self._routes.put(path, route, 1000 + 8 * len(path))
        return route

    async def _read(self, request: RequestContext, scope: Scope, receive: Receive) -> None:
        """Read the body, unless something refuses the request before."""
        wire = request.wire
        if self.provider.gate is not None:
            self.provider.gate(request)
        if self.settings.api_key is not None:
            check_key(scope["headers"], self.settings.api_key)
        _check_head(wire.method, wire.head)
        wire.body = await read_body(
            receive,
            self.settings.max_body,
            declared=declared_length(scope["headers"]),
            seconds=self.settings.body_timeout,
        )
        wire.complete = True
        wire.clock = time.perf_counter()

    def _record(self, request: RequestContext) -> Exchange | None:
        """Journal the exchange, once, before its last bytes go out.

        A client that has the whole reply finds it in the journal.
        """
        if request.sending.recorded:
            return None
        request.sending.recorded = True
        return self.journal.write(exchange_of(request, bodies=self.journal.bodies))

    async def _reply(self, request: RequestContext, receive: Receive, send: Send) -> None:
        wire = request.wire
        repeated = None if self.journal.bodies else self._repeated(wire)
        if repeated is not None:
            request.sending.recorded = True
            self.journal.write(repeated.exchange, started=wire.started, ms=wire.ms())
            await send_both(send, repeated.events)
            return
        aside = wire.dialect.asides.get(wire.route.endpoint)
        if aside is not None:
            await self._reply_aside(request, aside, send)
            return
        if len(wire.body) > LONG:
            conversation, completion = await self._apart(partial(self.provider.answer, request))
        else:
            conversation, completion = self.provider.answer(request)
        if completion.pace is not None or request.fault.plan is not None:
            steps = delivery(request, conversation, completion)
            await self._send_steps(request, steps, receive, send)
        elif conversation.stream:
            frames = wire.dialect.render_stream(conversation, completion)
            await self._stream(request, frames, receive, send)
        else:
            await self._send_whole(request, completion, send)

    async def _reply_aside(self, request: RequestContext, aside: Aside, send: Send) -> None:
        """Answer what no script is asked about, such as a count of tokens."""
        if len(request.wire.body) > LONG:
            body = await self._apart(partial(self.provider.answer_aside, request, aside))
        else:
            body = self.provider.answer_aside(request, aside)
        self._note(request, body)
        self._record(request)
        await send_whole(send, body, headers=request.headers)

    async def _send_whole(
        self, request: RequestContext, completion: Completion, send: Send
    ) -> None:
        assert request.known is not None
        body = request.known.render_whole(request.wire.dialect, completion)
        self._note(request, body)
        exchange = self._record(request)
        events = whole(body, headers=request.headers)
        if exchange is not None and not self.journal.bodies:
            self._remember(request, events, exchange)
        await send_both(send, events)

    def _repeated(self, wire: WireRequest) -> RepeatedReply | None:
        """The reply that was given to the same request, if it would be given again.

        What else could change a reply, such as a gate or a fault, is asked each time; so are all
        scripts but those of this package, which are known to be pure.
        """
        if self.provider.gate is not None or self.provider.faults.orders is not NONE:
            return None
        repeated = self._replies.get((wire.path, wire.head, wire.body))
        if repeated is None:
            return None
        try:  # scripts come and go while the server runs
            _, script = self.provider.choose(repeated.named, repeated.exchange.model)
        except ApiError:
            return None
        return repeated if script is repeated.script else None

    def _remember(
        self, request: RequestContext, events: tuple[Event, Event], exchange: Exchange
    ) -> None:
        """Remember a whole reply for when its request comes again, if only its bytes decided."""
        wire, choice = request.wire, request.choice
        if choice.script is None or request.fault.possible or len(wire.body) > LONGEST:
            return
        if is_builtin(choice.script):
            size = len(wire.body) + len(wire.path) + len(events[1]["body"]) + exchange.size + 2000
            reply = RepeatedReply(choice.named, choice.script, events, exchange)
            self._replies.put((wire.path, wire.head, wire.body), reply, size)

    async def _apart(self, work: Callable[[], _T]) -> _T:
        """In a thread, one at a time: the memory for long bodies is not for several threads."""
        async with self._long:
            return await asyncio.to_thread(work)

    async def _send_steps(
        self, request: RequestContext, steps: Iterable[Step], receive: Receive, send: Send
    ) -> None:
        """Send a reply that has a pace, or that a fault strikes."""
        sending = request.sending
        sending.started = True

        def before_last() -> None:
            sending.begun = sender.begun
            self._record(request)

        on_piece = partial(self._note, request)
        sender = Sender(receive, send, request.wire.transport, on_piece, before_last)
        if request.completion is not None and request.completion.pace is not None:
            sending.times = sender.times
        try:
            await sender.send_all(steps)
        finally:
            sending.begun = sender.begun

    async def _stream(
        self, request: RequestContext, frames: Iterator[Frame], receive: Receive, send: Send
    ) -> None:
        request.sending.started = True
        await start_stream(send, request.headers)
        leaving = asyncio.ensure_future(receive())  # nothing more to read: ends when they leave
        try:
            waiting = b""  # the last frame goes out once the journal has the exchange
            for number, frame in enumerate(frames, 1):
                self._note(request, frame.data)
                if waiting:
                    await send_piece(send, waiting)
                waiting = frame.data
                if number % _YIELD_EVERY == 0:
                    await asyncio.sleep(0)
                if leaving.done():
                    raise ClientLeft
            self._record(request)
            await send_piece(send, waiting)
            await send_piece(send, b"", more=False)
        finally:
            leaving.cancel()

    async def _refuse(self, request: RequestContext, receive: Receive, send: Send) -> None:
        error = request.error
        assert error is not None
        if request.sending.started:  # leaving the reply unfinished breaks the connection off
            return
        headers = request.headers + error.headers
        error.request_id = request.request_id
        if error.retry is not None:
            headers += (("x-should-retry", "true" if error.retry else "false"),)
        body = request.wire.dialect.render_error(error)
        self._note(request, body)
        self._record(request)
        unread = error.status == 413 and not request.wire.complete
        await send_whole(send, body, error.status, headers, more=unread)
        if unread:
            await discard_body(receive, self.settings.max_body, seconds=self.settings.body_timeout)
            await send_piece(send, b"", more=False)

    def _note(self, request: RequestContext, data: bytes) -> None:
        if self.journal.bodies:
            request.sending.bodies.append(data)


def _unforeseen(error: Exception) -> ApiError:
    """For a defect of the provider itself: the client is told, and does not hang or retry."""
    return ApiError(
        500,
        f"The provider failed on this request ({type(error).__name__}); its log says why.",
        kind="server",
        code="internal_error",
        retry=False,
    )


def _check_head(method: str, head: Head) -> None:
    if method != "POST":
        raise ApiError(
            405,
            f"Not allowed to {method} here; use POST.",
            code="method_not_allowed",
            headers=(("allow", "POST"),),
        )
    if head.strange_type:
        raise ApiError(
            415,
            f"Unsupported content type {head.strange_type!r}; "
            "send 'content-type: application/json'.",
            code="unsupported_content_type",
        )
    if head.encoding:
        raise ApiError(
            415,
            f"Unsupported content encoding {head.encoding!r}; send the JSON as it is, without "
            "'content-encoding'.",
            code="unsupported_content_encoding",
            headers=(("accept-encoding", "identity"),),
        )
