"""Sending steps at their time over one connection, until they end or the client leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from time import perf_counter

from fakeprovider.delivery import transport
from fakeprovider.delivery.steps import Cut, Hold, Piece, Start, Step
from fakeprovider.serving.asgi import ClientLeft, Receive, Send

_BRIEF = 0.05  # seconds; a shorter wait is not worth watching for the client to leave
_TURN = 64  # pieces sent without a wait before others get a chance


@dataclass(slots=True)
class Clocked:
    """When the first token and the last were asked to go out, and when they did, in seconds."""

    asked_first: float | None = None
    first: float | None = None
    asked_last: float = 0.0
    last: float = 0.0

    def take(self, piece: Piece, asked: float, now: float) -> None:
        """Note that a piece went out."""
        if self.first is None and piece.tokens:
            self.asked_first, self.first = asked, now
        self.asked_last, self.last = asked, now


class Player:
    """Plays steps to one client.

    `heard` is called with the bytes of each piece, `ending` before the last step, if it is one
    that the client sees; `transport` None means that the connection is out of reach, so that a
    `Cut` can only stop sending. Raises `ClientLeft`.
    """

    def __init__(
        self,
        receive: Receive,
        send: Send,
        transport: asyncio.Transport | None = None,
        heard: Callable[[bytes], None] = lambda data: None,
        ending: Callable[[], None] = lambda: None,
    ) -> None:
        self.clocked = Clocked()
        self.begun = False
        self._receive = receive
        self._send = send
        self._transport = transport
        self._heard = heard
        self._ending = ending
        self._later = 0.0  # seconds that holds have added
        self._sent = 0

    async def play(self, steps: Iterable[Step]) -> None:
        """Send everything, each at its time, and end as the steps say."""
        self._start_time = perf_counter()
        self._leaving = asyncio.ensure_future(self._left())
        try:
            for step, last in _with_last(steps):
                await self._take(step, last)
                if isinstance(step, Cut):
                    return
            await self._finish()
        finally:
            self._leaving.cancel()

    async def _finish(self) -> None:
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _take(self, step: Step, last: bool) -> None:
        if isinstance(step, Hold):
            self._later += step.seconds
            await self._pause(step.seconds)
            return
        if isinstance(step, Start | Piece):
            await self._until(step.due)
        if isinstance(step, Start):
            self.begun = True
        elif isinstance(step, Piece):
            self._check(step)
        if last:
            self._ending()
        await self._go(step)

    async def _go(self, step: Start | Piece | Cut) -> None:
        if isinstance(step, Start):
            await self._start(step)
        elif isinstance(step, Piece):
            await self._piece(step)
        else:
            await self._cut(step)

    async def _start(self, start: Start) -> None:
        headers = [(one.encode("latin-1"), two.encode("latin-1")) for one, two in start.headers]
        if start.length is not None:
            headers.append((b"content-length", b"%d" % start.length))
        await self._send(
            {"type": "http.response.start", "status": start.status, "headers": headers}
        )

    def _check(self, piece: Piece) -> None:
        """Note the piece that is about to go out."""
        if self._leaving.done():
            raise ClientLeft
        self._heard(piece.data)
        now = perf_counter() - self._start_time
        self.clocked.take(piece, piece.due + self._later, now)

    async def _piece(self, piece: Piece) -> None:
        await self._send({"type": "http.response.body", "body": piece.data, "more_body": True})
        self._sent += 1
        if self._sent % _TURN == 0:
            await asyncio.sleep(0)

    async def _until(self, due: float) -> None:
        left = self._start_time + due + self._later - perf_counter()
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
            transport.reset(self._transport)
        else:
            transport.close(self._transport)
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
