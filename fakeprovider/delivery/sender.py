"""Sending steps at their time over one connection, until they end or the client leaves."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from time import perf_counter

from fakeprovider.delivery.steps import Cut, Hold, Piece, Start, Step
from fakeprovider.serving.asgi import ClientLeft, Receive, Send

_LINGER_ZERO = struct.pack("ii", 1, 0)  # close() then sends RST and throws away what is unsent
_BRIEF = 0.05  # seconds; a shorter wait is not worth watching for the client to leave
_YIELD_EVERY = 64  # pieces sent without a wait before others get a chance


@dataclass(slots=True)
class SendTimes:
    """When the first token and the last were due to go out, and when they did, in seconds."""

    first_due: float | None = None
    first: float | None = None
    last_due: float = 0.0
    last: float = 0.0

    def note(self, piece: Piece, due: float, now: float) -> None:
        """Note that a piece goes out."""
        if self.first is None and piece.tokens:
            self.first_due, self.first = due, now
        self.last_due, self.last = due, now

    def in_ms(self) -> tuple[float | None, float | None, float, float]:
        """All four, in the order of the fields, in milliseconds."""
        return (
            None if self.first_due is None else round(self.first_due * 1000, 3),
            None if self.first is None else round(self.first * 1000, 3),
            round(self.last_due * 1000, 3),
            round(self.last * 1000, 3),
        )


class Sender:
    """Sends steps to one client.

    `on_piece` is called with the bytes of each piece, `before_last` before the last step, if it is
    one that the client sees; `transport` None means that the connection is out of reach, so that a
    `Cut` can only stop sending. Raises `ClientLeft`.
    """

    def __init__(
        self,
        receive: Receive,
        send: Send,
        transport: asyncio.Transport | None = None,
        on_piece: Callable[[bytes], None] = lambda data: None,
        before_last: Callable[[], None] = lambda: None,
    ) -> None:
        self.times = SendTimes()
        self.begun = False
        self._receive = receive
        self._send = send
        self._transport = transport
        self._on_piece = on_piece
        self._before_last = before_last
        self._held = 0.0  # seconds that holds have added
        self._sent = 0

    async def send_all(self, steps: Iterable[Step]) -> None:
        """Send everything, each at its time, and end as the steps say."""
        self._start_time = perf_counter()
        self._leaving = asyncio.ensure_future(self._left())
        try:
            for step, last in _with_last(steps):
                await self._do(step, last)
                if isinstance(step, Cut):
                    return
            await self._finish()
        finally:
            self._leaving.cancel()

    async def _finish(self) -> None:
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _do(self, step: Step, last: bool) -> None:
        if isinstance(step, Hold):
            self._held += step.seconds
            await self._pause(step.seconds)
            return
        if isinstance(step, Start | Piece):
            await self._until(step.due)
        if isinstance(step, Start):
            self.begun = True
        elif isinstance(step, Piece):
            self._check(step)
        if last:
            self._before_last()
        await self._send_step(step)

    async def _send_step(self, step: Start | Piece | Cut) -> None:
        if isinstance(step, Start):
            await self._start(step)
        elif isinstance(step, Piece):
            await self._piece(step)
        else:
            await self._cut(step)

    async def _start(self, start: Start) -> None:
        headers = [
            (name.encode("latin-1"), value.encode("latin-1")) for name, value in start.headers
        ]
        if start.length is not None:
            headers.append((b"content-length", b"%d" % start.length))
        await self._send(
            {"type": "http.response.start", "status": start.status, "headers": headers}
        )

    def _check(self, piece: Piece) -> None:
        """Note the piece that is about to go out."""
        if self._leaving.done():
            raise ClientLeft
        self._on_piece(piece.data)
        now = perf_counter() - self._start_time
        self.times.note(piece, piece.due + self._held, now)

    async def _piece(self, piece: Piece) -> None:
        await self._send({"type": "http.response.body", "body": piece.data, "more_body": True})
        self._sent += 1
        if self._sent % _YIELD_EVERY == 0:
            await asyncio.sleep(0)

    async def _until(self, due: float) -> None:
        left = self._start_time + due + self._held - perf_counter()
        if left > 0:
            await self._pause(left)

    async def _pause(self, seconds: float) -> None:
        if seconds < _BRIEF:
            await asyncio.sleep(seconds)
        else:
            await asyncio.wait((self._leaving,), timeout=seconds)
        if self._leaving.done():
            raise ClientLeft

    async def _cut(self, cut: Cut) -> None:
        if self._transport is None:
            raise ConnectionError("the connection cannot be cut under another server than ours")
        if cut.complete:
            await self._finish()
        if cut.how == "reset":
            _reset(self._transport)
        else:
            _close(self._transport)
        await self._leaving

    async def _left(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass


def _with_last(steps: Iterable[Step]) -> Iterator[tuple[Step, bool]]:
    """Each step, and whether it is the last."""
    remaining = iter(steps)
    step = next(remaining, None)
    while step is not None:
        following = next(remaining, None)
        yield step, following is None
        step = following


def _close(transport: asyncio.Transport) -> None:
    """Send what is under way, then FIN: the peer sees an end where none was due."""
    transport.close()


def _reset(transport: asyncio.Transport) -> None:
    """Send RST; what is still unsent is lost."""
    connection = transport.get_extra_info("socket")
    if connection is not None:
        with contextlib.suppress(OSError, ValueError):  # the peer was quicker
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_ZERO)
    transport.abort()
