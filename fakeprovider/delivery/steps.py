"""A reply as the steps in which it goes out: bytes, silences, and an end that may be rude.

Steps are data, so that a fault is a function from steps to steps and a test needs no socket.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from fakeprovider.pacing import due_whole, schedule
from fakeprovider.protocols.dialect import Frame
from fakeprovider.replies import Pace

Headers: TypeAlias = tuple[tuple[str, str], ...]

AT_ONCE = Pace()


class Piece(NamedTuple):
    """Bytes of the body; `due` in seconds from the start, holds not counted."""

    data: bytes
    due: float = 0.0
    tokens: int = 0


class Hold(NamedTuple):
    """Silence for so many seconds, the socket open; everything after it is that much later."""

    seconds: float


class Cut(NamedTuple):
    """The end of the connection: `close` sends what is under way, then FIN; `reset` sends RST.

    `complete` ends the reply properly first.
    """

    how: Literal["close", "reset"]
    complete: bool = False


@dataclass(frozen=True, slots=True)
class Start:
    """Status line and headers. Without `length` (bytes of the body) the body is chunked."""

    status: int = 200
    headers: Headers = ()
    length: int | None = None
    due: float = 0.0


Step: TypeAlias = Start | Piece | Hold | Cut

SSE: Headers = (
    ("content-type", "text/event-stream; charset=utf-8"),
    ("cache-control", "no-cache"),
)
JSON: Headers = (("content-type", "application/json"),)


@dataclass(frozen=True, slots=True)
class Timing:
    """A pace, and what decides its jitter."""

    pace: Pace = AT_ONCE
    seed: str = ""


def streamed(frames: Iterable[Frame], timing: Timing, headers: Headers = ()) -> Iterator[Step]:
    """The steps of a stream of events."""
    started = False
    for frame, due in schedule(frames, timing.pace, timing.seed):
        if not started:
            yield Start(200, SSE + headers, due=due)
            started = True
        yield Piece(frame.data, due, frame.tokens)
    if not started:
        yield Start(200, SSE + headers)


def whole(body: bytes, tokens: int, timing: Timing, start: Start | None = None) -> Iterator[Step]:
    """The steps of a reply in one piece, due when its last token is."""
    due = due_whole(tokens, timing.pace, timing.seed)
    start = start or Start(200, JSON)
    yield Start(start.status, start.headers, len(body), due)
    yield Piece(body, due, tokens)
