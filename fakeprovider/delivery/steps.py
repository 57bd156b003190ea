"""A reply as the steps in which it goes out: bytes, silences, and an end that may be rude.

Steps are data, so that a fault is a function from steps to steps and a test needs no socket. When
each is due is a pure schedule, in seconds from the start of the reply: jitter is seeded by the
conversation, so that an identical request is answered at identical times.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Literal, NamedTuple, TypeAlias

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


def schedule(frames: Iterable[Frame], pace: Pace, seed: str) -> Iterator[tuple[Frame, float]]:
    """Frames, and when each is due in seconds; `seed` decides the jitter.

    The first token is due after `first_token`, the n-th a gap of n - 1 tokens later. What comes
    before the first token is due with it (a service answers once it has something to say), and
    what carries no token of its own is due with what came before it.
    """
    gaps = _gaps(pace, seed)
    due = next(gaps)
    said = 0
    for frame in frames:
        for _ in range(frame.tokens):
            if said:
                due += next(gaps)
            said += 1
        yield frame, due


def due_whole(tokens: int, pace: Pace, seed: str) -> float:
    """When a reply that is not streamed is due: with the last of its `tokens`."""
    *_, (_, due) = schedule((Frame(b"", 1) for _ in range(max(1, tokens))), pace, seed)
    return due


def _gaps(pace: Pace, seed: str) -> Iterator[float]:
    """Seconds before the first token, then between tokens."""
    random = Random(seed)
    token = 1 / pace.tokens_per_second if pace.tokens_per_second else 0.0
    yield pace.first_token * _varied(pace, random)
    said = 1
    while True:
        gap = token * _varied(pace, random)
        if pace.stall_every and said % pace.stall_every == 0:
            gap += pace.stall
        yield gap
        said += 1


def _varied(pace: Pace, random: Random) -> float:
    return 1 + pace.jitter * random.uniform(-1, 1) if pace.jitter else 1.0
