"""Events of parallel parts that are woven together, share a number, or come out of order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any

from fakeprovider.faults.events import (
    Event,
    argument_fragment,
    chat_calls,
    decode,
    each,
    each_call,
    read_all,
)
from fakeprovider.faults.kind import BLOCKS, STREAM, Scene
from fakeprovider.faults.registry import fault
from fakeprovider.protocols.dialect import Frame


def _place(event: Event, scene: Scene) -> int | None:
    """Which call or block an event belongs to; None for events of the reply as a whole."""
    data = event.data or {}
    if scene.dialect.position_field is not None:
        position: int | None = data.get(scene.dialect.position_field)
        return position
    calls = chat_calls(event)
    return calls[0]["index"] if calls else None


@fault(
    "interleaved",
    hook="stream",
    group="calls",
    line="Fragments of parallel calls are woven together; each call's order is right.",
    source="continuedev/continue#13223, maximhq/bifrost#1829, crmne/ruby_llm#711",
    forms=STREAM,
    needs="two calls",
)
def _woven(frames: Iterable[Frame], scene: Scene) -> Iterator[Frame]:
    """Openings of all parts, then their events in turn; each part's own order stays."""
    events = list(read_all(frames))
    places = [_place(event, scene) for event in events]
    first = next(index for index, place in enumerate(places) if place is not None)
    last = max(index for index, place in enumerate(places) if place is not None)
    parts: dict[int, list[Event]] = {}
    for event, place in zip(events, places, strict=True):
        if place is not None:
            parts.setdefault(place, []).append(event)
    turns = zip_longest(*parts.values())
    woven = [event for turn in turns for event in turn if event is not None]
    ordered = (*events[:first], *woven, *events[last + 1 :])
    return (event.frame for event in _renumbered(ordered))


def _renumbered(events: Iterable[Event]) -> Iterator[Event]:
    """Responses number their events; the numbers still rise."""
    for number, event in enumerate(events):
        numbered = "sequence_number" in (event.data or {})
        yield event.with_data(sequence_number=number) if numbered else event


@fault(
    "index_collides",
    hook="stream",
    group="calls",
    line="All calls (or blocks, or items) have the number 0.",
    source="openai/openai-python#2806, microsoft/agent-framework#8336",
    forms=STREAM,
    needs="two calls",
)
def _colliding(frames: Iterable[Frame], scene: Scene) -> Iterator[Frame]:
    """Every call or block has the number 0."""
    return each(frames, lambda event: _at_zero(event, scene))


def _at_zero(event: Event, scene: Scene) -> Event:
    """The event as one of the part 0."""
    if _place(event, scene) is None:
        return event
    field = scene.dialect.position_field
    if field is None:
        return each_call(event, lambda call: {**call, "index": 0})
    return event.with_data(**{field: 0})


@fault(
    "delta_before_start",
    hook="stream",
    group="calls",
    line="A delta comes before `message_start`.",
    source="NousResearch/hermes-agent#72833",
    forms=STREAM,
    shapes=BLOCKS,
)
def _delta_first(frames: Iterable[Frame], scene: Scene) -> Iterator[Frame]:
    """The first delta comes before `message_start`."""
    events = list(read_all(frames))
    at = next(index for index, event in enumerate(events) if event.name == "content_block_delta")
    return (event.frame for event in (events[at], *events[:at], *events[at + 1 :]))


@fault(
    "second_start",
    hook="stream",
    group="calls",
    line="`message_start` comes again in the middle of the message.",
    source="NousResearch/hermes-agent#14737",
    forms=STREAM,
    shapes=BLOCKS,
)
def _second_start(frames: Iterable[Frame], scene: Scene) -> Iterator[Frame]:
    """`message_start` once more in the middle."""
    events = list(read_all(frames))
    middle = len(events) // 2
    return (event.frame for event in (*events[:middle], events[0], *events[middle:]))


@fault(
    "input_in_start",
    hook="stream",
    group="calls",
    line="A call's input stands in `content_block_start`, without a delta.",
    source="inflaborg/ccrelay#119, jyjeanne/crustly#38",
    forms=STREAM,
    needs="a call",
    shapes=BLOCKS,
)
def _input_in_start(frames: Iterable[Frame], scene: Scene) -> Iterator[Frame]:
    """The whole input stands in `content_block_start`, and no delta follows."""
    blocks = decode(scene.dialect.render_whole(scene.conversation, scene.completion))["content"]
    for event in read_all(frames):
        if argument_fragment(event) is None:
            yield _with_input(event, blocks).frame


def _with_input(event: Event, blocks: list[dict[str, Any]]) -> Event:
    """A `content_block_start` with the whole input of its call."""
    if event.name != "content_block_start":
        return event
    block = blocks[(event.data or {})["index"]]
    return event.with_data(content_block=block) if block["type"] == "tool_use" else event


@fault(
    "one_block",
    hook="stream",
    group="calls",
    line="The input of several calls is said in one block.",
    source="sgl-project/sglang#39782, MoonshotAI/Kimi-K2.5#33",
    forms=STREAM,
    needs="two calls",
    shapes=BLOCKS,
)
def _one_block(frames: Iterable[Frame], scene: Scene) -> Iterator[Frame]:
    """The input of all calls is said in the block of the first one, which ends with the message."""
    events = list(read_all(frames))
    tools = [(event.data or {})["index"] for event in events if _opens_tool(event)]
    stop = next(event for event in events if event.name == "content_block_stop")
    for event in events:
        if event.name == "message_delta":
            yield stop.with_data(index=tools[0]).frame
        place = (event.data or {}).get("index")
        if place not in tools:
            yield event.frame
        elif argument_fragment(event) is not None or (place == tools[0] and _opens_tool(event)):
            yield event.with_data(index=tools[0]).frame


def _opens_tool(event: Event) -> bool:
    block = (event.data or {}).get("content_block") or {}
    return block.get("type") == "tool_use"
