"""Responses: a finished reply as the documented order of numbered events."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import msgspec

from fakeprovider.completion import Completion
from fakeprovider.conversation import Call, Conversation
from fakeprovider.protocols.base import Frame
from fakeprovider.protocols.responses_render import (
    Item,
    Words,
    begun,
    content_part,
    item,
    items,
    response,
    words,
)
from fakeprovider.replies import Refusal, Thinking, WebSearch
from fakeprovider.tokens import pieces

Event = tuple[str, dict[str, Any], int]

_encode = msgspec.json.Encoder().encode


def frames(conversation: Conversation, completion: Completion) -> Iterator[Frame]:
    """The events as bytes, numbered from 0; there is no `[DONE]` in this dialect."""
    numbers = count()
    for kind, data, tokens in events(conversation, completion):
        body = _encode({"type": kind, "sequence_number": next(numbers), **data})
        yield Frame(b"event: %b\ndata: %b\n\n" % (kind.encode(), body), tokens)


def events(conversation: Conversation, completion: Completion) -> Iterator[Event]:
    """Names, data and output tokens of the events."""
    start = begun(conversation, completion)
    yield "response.created", {"response": start}, 0
    yield "response.in_progress", {"response": start}, 0
    output = []
    for index, one in enumerate(items(conversation, completion)):
        place = {"output_index": index}
        opened = item(conversation, one, begun=True)
        yield "response.output_item.added", {**place, "item": opened}, _frame_tokens(one)
        yield from _inside(one, {"item_id": one.id, **place})
        output.append(item(conversation, one))
        yield "response.output_item.done", {**place, "item": output[-1]}, 0
    whole = response(conversation, completion, output)
    yield f"response.{whole['status']}", {"response": whole}, 0


def _frame_tokens(one: Item) -> int:
    return 1 if isinstance(one.parts[0], Call) else 0


def _inside(one: Item, place: dict[str, Any]) -> Iterator[Event]:
    first = one.parts[0]
    if isinstance(first, Call):
        yield from _call(first, place)
    elif isinstance(first, Thinking):
        yield from _summary(first, place)
    elif isinstance(first, WebSearch):
        for step in ("in_progress", "searching", "completed"):
            yield f"response.web_search_call.{step}", place, 0
    else:
        for index, part in enumerate(words(one)):
            yield from _content(part, {**place, "content_index": index})


def _call(call: Call, place: dict[str, Any]) -> Iterator[Event]:
    for piece in pieces(call.arguments):
        yield "response.function_call_arguments.delta", {**place, "delta": piece}, 1
    yield "response.function_call_arguments.done", {**place, "arguments": call.arguments}, 0


def _summary(thinking: Thinking, place: dict[str, Any]) -> Iterator[Event]:
    place = {**place, "summary_index": 0}
    name = "response.reasoning_summary"
    part = {"type": "summary_text", "text": ""}
    yield f"{name}_part.added", {**place, "part": part}, 0
    for piece in pieces(thinking.text):
        yield f"{name}_text.delta", {**place, "delta": piece}, 1
    yield f"{name}_text.done", {**place, "text": thinking.text}, 0
    yield f"{name}_part.done", {**place, "part": {**part, "text": thinking.text}}, 0


def _content(part: Words, place: dict[str, Any]) -> Iterator[Event]:
    refused = isinstance(part, Refusal)
    name = "response.refusal" if refused else "response.output_text"
    extra: dict[str, Any] = {} if refused else {"logprobs": []}
    field = "refusal" if refused else "text"
    yield "response.content_part.added", {**place, "part": content_part(part, begun=True)}, 0
    for piece in pieces(part.text):
        yield f"{name}.delta", {**place, "delta": piece, **extra}, 1
    yield f"{name}.done", {**place, field: part.text, **extra}, 0
    yield "response.content_part.done", {**place, "part": content_part(part)}, 0
