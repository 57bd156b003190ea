"""Server-sent events taken apart and put together again, byte for byte where nothing changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from fakeprovider.protocols.dialect import Frame

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


FINISHES = frozenset({"message_delta", "message_stop"})


def first_choice(event: Event) -> dict[str, Any] | None:
    """The first choice of a chat chunk, if it has one."""
    choices = (event.data or {}).get("choices")
    return choices[0] if choices else None


def chat_calls(event: Event) -> list[dict[str, Any]]:
    """The tool call deltas of a chat chunk."""
    choice = first_choice(event)
    calls: list[dict[str, Any]] = ((choice or {}).get("delta") or {}).get("tool_calls") or []
    return calls


def with_choice(event: Event, **changes: Any) -> Event:
    """A chat chunk with its choice changed."""
    return event.with_data(choices=[{**(first_choice(event) or {}), **changes}])


def with_delta(event: Event, delta: dict[str, Any]) -> Event:
    """A chat chunk with another delta."""
    return with_choice(event, delta=delta)


def with_calls(event: Event, calls: list[dict[str, Any]]) -> Event:
    """A chat chunk with other tool call deltas."""
    choice = first_choice(event) or {}
    return with_delta(event, {**choice["delta"], "tool_calls": calls})


def each_call(event: Event, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Event:
    """A chat chunk with each of its tool call deltas changed."""
    calls = chat_calls(event)
    return with_calls(event, [change(call) for call in calls]) if calls else event


def each_delta(event: Event, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Event:
    """A chat chunk with its delta changed, if it has one."""
    choice = first_choice(event)
    return event if choice is None else with_delta(event, change(choice["delta"]))


def finishes(event: Event) -> bool:
    """Whether this event says why the reply ended, or comes after that."""
    choice = first_choice(event)
    if choice is not None:
        return choice.get("finish_reason") is not None
    kind = (event.data or {}).get("type", "")
    return kind in FINISHES or kind in ("response.completed", "response.incomplete")


def argument_fragment(event: Event) -> str | None:
    """The fragment of a call's arguments that this event carries, if it is such an event."""
    data = event.data or {}
    if data.get("type") == "content_block_delta":
        fragment: str | None = data["delta"].get("partial_json")
        return fragment
    if data.get("type") == "response.function_call_arguments.delta":
        return str(data["delta"])
    calls = chat_calls(event)
    return None if not calls else str(calls[0].get("function", {}).get("arguments", ""))


def ends_call(event: Event, in_call: bool) -> bool:
    """Whether a call that was open before this event is complete with it, or is by now."""
    kind = (event.data or {}).get("type", "")
    if kind == "response.output_item.done":
        item: dict[str, Any] = (event.data or {})["item"]
        return item.get("type") == "function_call"
    if kind:
        return in_call and kind == "content_block_stop"
    opens = any(call.get("id") for call in chat_calls(event))
    return in_call and (opens or not chat_calls(event))
