"""Usage that is missing, null, repeated, or sent where nobody asked for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from fakeprovider.faults.events import Event, decode, each, edit, encode, finishes, read_all
from fakeprovider.faults.kind import BLOCKS, CHOICES, STREAM, Param, Scene
from fakeprovider.faults.registry import fault
from fakeprovider.protocols.dialect import Frame


def _missing_whole(body: bytes, scene: Scene) -> bytes:
    data = decode(body)
    del data["usage"]
    return encode(data)


@fault(
    "usage_missing",
    hook="stream",
    group="usage",
    line="No usage anywhere, asked for or not.",
    source="MitulShah1/openai-agents-go#93, HarperFast/harper#854",
    whole=_missing_whole,
)
def _missing(frames: Iterable[Frame], scene: Scene) -> Iterator[Frame]:
    for event in read_all(frames):
        if (event.data or {}).get("choices") != []:
            yield _without_usage(event).frame


def _without_usage(event: Event) -> Event:
    """The event without usage, also within its message or response."""
    data = event.data or {}
    inner = {holder: data[holder] for holder in ("message", "response") if holder in data}
    for holder, held in inner.items():
        inner[holder] = {key: value for key, value in held.items() if key != "usage"}
    return event.with_data(**inner).without("usage") if data else event


def _null(scene: Scene) -> Any:
    """Usage with null in it, or null."""
    if scene.values["what"] == "object":
        return None
    names = scene.dialect.token_names
    nulls: dict[str, Any] = {names.prompt: scene.completion.usage.prompt, names.completion: None}
    return nulls if names.total is None else {**nulls, names.total: None}


def _null_whole(body: bytes, scene: Scene) -> bytes:
    return edit(body, usage=_null(scene))


@fault(
    "usage_null",
    hook="stream",
    group="usage",
    line="Usage with null where output is counted, or null altogether.",
    source="livekit/agents#6763, openai/openai-agents-python#1179",
    params=(Param("what", "counts", "what is null", ("counts", "object")),),
    whole=_null_whole,
)
def _null_stream(frames: Iterable[Frame], scene: Scene) -> Iterator[Frame]:
    for event in read_all(frames):
        if event.data is None:
            yield _usage_chunk(scene, _null(scene)).frame
        if (event.data or {}).get("choices") != []:
            yield _with_null(event, scene).frame


def _with_null(event: Event, scene: Scene) -> Event:
    """The event with null usage where usage stands in it."""
    data = event.data or {}
    if event.name == "message_delta":
        return event.with_data(usage=_null(scene))
    if finishes(event) and "response" in data:
        return event.with_data(response={**data["response"], "usage": _null(scene)})
    return event


def _usage_chunk(scene: Scene, usage: Any) -> Event:
    """A chat chunk with nothing but usage."""
    first = next(read_all(scene.dialect.render_stream(scene.conversation, scene.completion)))
    return first.with_data(choices=[], usage=usage)


def _so_far(scene: Scene, completion: int) -> dict[str, int]:
    """Usage in the dialect's names."""
    names, prompt = scene.dialect.token_names, scene.completion.usage.prompt
    usage = {names.prompt: prompt, names.completion: completion}
    if names.total is not None:
        usage[names.total] = prompt + completion
    return usage


@fault(
    "usage_running",
    hook="stream",
    group="usage",
    line="Usage again and again: running totals, which must not be added up.",
    source="griptape-ai/griptape#2275, cline/cline#10148, deepnoodle-ai/dive#261",
    params=(Param("totals", "running", "of what", ("running", "final")),),
    forms=STREAM,
    shapes=CHOICES | BLOCKS,
)
def _running(frames: Iterable[Frame], scene: Scene) -> Iterator[Frame]:
    total = scene.completion.usage.completion
    sent = 0
    for event in read_all(frames):
        sent = min(total, sent + event.tokens)
        shown = total if scene.values["totals"] == "final" or finishes(event) else sent
        if event.data is None or event.data.get("choices") == []:
            yield event.frame
        elif scene.dialect.shape == "choices":
            yield event.with_data(usage=_so_far(scene, shown)).frame
        else:
            yield event.frame
            if event.name == "content_block_stop":
                yield _message_delta(_so_far(scene, shown))


def _message_delta(usage: dict[str, int]) -> Frame:
    """A `message_delta` that says nothing but usage."""
    delta = {"stop_reason": None, "stop_sequence": None}
    return Event("message_delta", {"type": "message_delta", "delta": delta, "usage": usage}).frame


@fault(
    "usage_output_only",
    hook="stream",
    group="usage",
    line="`message_delta` has nothing but output tokens; the input was in `message_start`.",
    source="deepnoodle-ai/dive#261",
    forms=STREAM,
    shapes=BLOCKS,
)
def _output_only(frames: Iterable[Frame], scene: Scene) -> Iterator[Frame]:
    usage = {"output_tokens": scene.completion.usage.completion}
    return each(
        frames,
        lambda event: event.with_data(usage=usage) if event.name == "message_delta" else event,
    )


@fault(
    "usage_unasked",
    hook="stream",
    group="usage",
    line="The usage chunk comes though `include_usage` was not sent.",
    source="digitalocean/langchain-gradient#27, awslabs/llmeter#34",
    forms=STREAM,
    shapes=CHOICES,
)
def _unasked(frames: Iterable[Frame], scene: Scene) -> Iterator[Frame]:
    sent = False
    for event in read_all(frames):
        sent = sent or (event.data or {}).get("choices") == []
        if event.data is None and not sent:
            usage = scene.completion.usage
            yield _usage_chunk(scene, _so_far(scene, usage.completion)).frame
        yield event.frame
