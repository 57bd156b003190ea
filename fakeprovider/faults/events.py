"""Server-sent events taken apart and put together again, byte for byte where nothing changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from fakeprovider.protocols.base import Frame

_decode = msgspec.json.Decoder().decode
encode = msgspec.json.Encoder().encode

Data = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its name ("" if it has none), its data (None for `[DONE]`), its tokens."""

    name: str
    data: Data | None
    tokens: int = 0

    @property
    def frame(self) -> Frame:
        """The event as it is sent."""
        head = b"event: %b\n" % self.name.encode() if self.name else b""
        data = b"[DONE]" if self.data is None else encode(self.data)
        return Frame(b"%bdata: %b\n\n" % (head, data), self.tokens)

    def with_data(self, **changes: Any) -> Event:
        """The event with some of its data changed."""
        return replace(self, data={**(self.data or {}), **changes})

    def without(self, *names: str) -> Event:
        """The event without some of its data."""
        data = self.data or {}
        return replace(self, data={key: value for key, value in data.items() if key not in names})


def read(frame: Frame) -> Event:
    """The event in a frame that a dialect made."""
    head, _, body = frame.data.rpartition(b"data: ")
    name = head.removeprefix(b"event: ").rstrip(b"\n").decode()
    body = body.rstrip(b"\n")
    return Event(name, None if body == b"[DONE]" else _decode(body), frame.tokens)


def read_all(frames: Iterable[Frame]) -> Iterator[Event]:
    """The events in frames."""
    return map(read, frames)


def write_all(events: Iterable[Event]) -> Iterator[Frame]:
    """The frames of events."""
    return (event.frame for event in events)


def each(frames: Iterable[Frame], change: Callable[[Event], Event]) -> Iterator[Frame]:
    """The frames with every event changed."""
    return (change(read(frame)).frame for frame in frames)


def edit(body: bytes, **changes: Any) -> bytes:
    """A JSON body with some of its top-level fields changed."""
    return encode({**_decode(body), **changes})


def decode(body: bytes) -> Any:
    """JSON."""
    return _decode(body)
