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
from typing import TypeVar

from fakeprovider.delivery.schedule import delivery
from fakeprovider.delivery.sender import Player
from fakeprovider.delivery.steps import Step
from fakeprovider.delivery.transport import transport_of
from fakeprovider.errors import ApiError
from fakeprovider.journal import Journal
from fakeprovider.parsing.caches import ByteBoundedCache
from fakeprovider.protocols.dialect import Frame, by_endpoint
from fakeprovider.serving.asgi import (
    ASGIApp,
    ClientLeft,
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
    whole,
)
from fakeprovider.serving.auth import check_key
from fakeprovider.serving.pages import pages
from fakeprovider.serving.provider import LONG, Provider
from fakeprovider.serving.repeats import Answered, Repeats
from fakeprovider.serving.request_context import RequestContext, exchange_of
from fakeprovider.serving.routing import Route, resolve

_log = logging.getLogger("fakeprovider")
_T = TypeVar("_T")

_YIELD_EVERY = 64  # frames between two chances for others, and to see that the client left


class App:
    """The ASGI application of one provider and its journal."""

    def __init__(self, provider: Provider, journal: Journal) -> None:
        self.provider = provider
        self.journal = journal
        self.settings = provider.settings
        self._long = asyncio.Lock()
        self._dialects = by_endpoint()
        self._routes: ByteBoundedCache[str, Route] = ByteBoundedCache(1 << 20)
        self._pages: ASGIApp = pages(provider, journal, self.settings.api_key)
        self._repeats = Repeats(provider)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        path = scope["raw_path"].decode("latin-1")
        route = self._route(path)
        if route is None:
            await self._pages(scope, receive, send)
            return
        context = RequestContext(
            self._dialects[route.endpoint],
            route,
            head=read_head(scope["headers"]),
            method=scope["method"],
            path=path,
            started=time.time(),
            transport=transport_of(scope),
        )
        await self._serve(context, scope, receive, send)

    def _route(self, path: str) -> Route | None:
        route = self._routes.get(path)
        if route is None:
            route = resolve(path, self._dialects)
            if route is not None:
                self._routes.put(path, route, 1000 + 8 * len(path))
        return route

    async def _serve(
        self, context: RequestContext, scope: Scope, receive: Receive, send: Send
    ) -> None:
        context.clock = time.perf_counter()
        try:
            if self.provider.gate is not None:
                self.provider.gate(context)
            if self.settings.api_key is not None:
                check_key(scope["headers"], self.settings.api_key)
            _check_head(context.method, context.head)
            context.body = await read_body(
                receive,
                self.settings.max_body,
                declared=declared_length(scope["headers"]),
                seconds=self.settings.body_timeout,
            )
            context.read = True
            context.clock = time.perf_counter()
            again = None if self.journal.bodies else self._repeats.find(context)
            if again is None:
                await self._reply(context, receive, send)
            else:
                await self._repeat(context, again, send)
        except ApiError as error:
            context.error = error
            await self._refuse(context, receive, send)
        except ClientLeft:
            context.cancelled = True
        except Exception as error:
            _log.exception("%s %s failed", context.method, context.path)
            context.error = _unforeseen(error)
            await self._refuse(context, receive, send)
        self._record(context)

    async def _repeat(self, context: RequestContext, again: Answered, send: Send) -> None:
        """Send what was sent before; the journal hears of it as of any exchange."""
        context.recorded = True
        self.journal.write(again.told, started=context.started, ms=context.ms())
        await send_both(send, again.events)

    def _record(self, context: RequestContext) -> None:
        """Journal the exchange, once, before its last bytes go out.

        A client that has the whole reply finds it in the journal.
        """
        if not context.recorded:
            context.recorded = True
            context.told = self.journal.write(exchange_of(context, bodies=self.journal.bodies))

    async def _reply(self, context: RequestContext, receive: Receive, send: Send) -> None:
        aside = context.dialect.asides.get(context.route.endpoint)
        if aside is not None:
            if len(context.body) > LONG:
                body = await self._apart(partial(self.provider.answer_aside, context, aside))
            else:
                body = self.provider.answer_aside(context, aside)
            self._note(context, body)
            self._record(context)
            await send_whole(send, body, headers=context.headers)
            return
        if len(context.body) > LONG:
            conversation, completion = await self._apart(partial(self.provider.answer, context))
        else:
            conversation, completion = self.provider.answer(context)
        if completion.pace is not None or context.struck is not None:
            await self._play(context, delivery(context, conversation, completion), receive, send)
            return
        if conversation.stream:
            frames = context.dialect.render_stream(conversation, completion)
            await self._stream(context, frames, receive, send)
            return
        assert context.known is not None
        body = context.known.render_whole(context.dialect, completion)
        self._note(context, body)
        self._record(context)
        events = whole(body, headers=context.headers)
        self._repeats.keep(context, events)
        await send_both(send, events)

    async def _apart(self, work: Callable[[], _T]) -> _T:
        """In a thread, one at a time: the memory for long bodies is not for several threads."""
        async with self._long:
            return await asyncio.to_thread(work)

    async def _play(
        self, context: RequestContext, steps: Iterable[Step], receive: Receive, send: Send
    ) -> None:
        context.answering = True

        def ending() -> None:
            context.begun = player.begun
            self._record(context)

        player = Player(receive, send, context.transport, partial(self._note, context), ending)
        if context.completion is not None and context.completion.pace is not None:
            context.clocked = player.clocked
        try:
            await player.play(steps)
        finally:
            context.begun = player.begun

    async def _stream(
        self, context: RequestContext, frames: Iterator[Frame], receive: Receive, send: Send
    ) -> None:
        context.answering = True
        await start_stream(send, context.headers)
        leaving = asyncio.ensure_future(receive())  # nothing more to read: ends when they leave
        try:
            waiting = b""  # the last frame goes out once the journal has the exchange
            for number, frame in enumerate(frames, 1):
                self._note(context, frame.data)
                if waiting:
                    await send_piece(send, waiting)
                waiting = frame.data
                if number % _YIELD_EVERY == 0:
                    await asyncio.sleep(0)
                if leaving.done():
                    raise ClientLeft
            self._record(context)
            await send_piece(send, waiting)
            await send_piece(send, b"", more=False)
        finally:
            leaving.cancel()

    async def _refuse(self, context: RequestContext, receive: Receive, send: Send) -> None:
        assert context.error is not None
        if (
            context.answering
        ):  # the head is out: leaving the reply unfinished breaks the connection off
            return
        headers = context.headers + context.error.headers
        context.error.request_id = context.request_id
        if context.error.retry is not None:
            headers += (("x-should-retry", "true" if context.error.retry else "false"),)
        body = context.dialect.render_error(context.error)
        self._note(context, body)
        self._record(context)
        unread = context.error.status == 413 and not context.read
        await send_whole(send, body, context.error.status, headers, more=unread)
        if unread:
            await discard_body(receive, self.settings.max_body, seconds=self.settings.body_timeout)
            await send_piece(send, b"", more=False)

    def _note(self, context: RequestContext, data: bytes) -> None:
        if self.journal.bodies:
            context.sent.append(data)


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
