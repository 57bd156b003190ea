"""Responses: a finished reply as a whole response or as events, and read back from either.

Shapes after the API reference ("Create a model response") and the official SDK's types."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, groupby
from typing import Any, TypeAlias

import msgspec

from fakeprovider.completion import Completion, Part, Tokens
from fakeprovider.conversation import Call, Conversation
from fakeprovider.parsing.thinking import sign
from fakeprovider.protocols.answers import (
    NotAnAnswer,
    Said,
    Written,
    read_events,
    written,
    written_call,
)
from fakeprovider.protocols.dialect import CREATED, Frame
from fakeprovider.protocols.responses.history import (
    call_item_id,
    message_id,
    reasoning_id,
    response_id,
)
from fakeprovider.replies import Finish, Refusal, Text, Thinking, WebSearch
from fakeprovider.tokens import pieces

Words: TypeAlias = Text | Refusal

_INCOMPLETE: dict[Finish, str] = {
    "length": "max_output_tokens",
    "context_window": "max_output_tokens",
    "content_filter": "content_filter",
}


@dataclass(frozen=True, slots=True)
class Item:
    """One output item: its id, what it is made of, and whether it was cut short."""

    id: str
    parts: tuple[Part, ...]
    cut: bool

    @property
    def status(self) -> str:
        """How it ended."""
        return "incomplete" if self.cut else "completed"


def items(conversation: Conversation, completion: Completion) -> list[Item]:
    """The output items, in order: neighbouring words are one message, each call is an item."""
    groups: list[tuple[Part, ...]] = []
    for wordy, group in groupby(completion.parts, lambda part: isinstance(part, Text | Refusal)):
        parts = tuple(group)
        groups += [parts] if wordy else [(part,) for part in parts]
    last = len(groups) - 1
    return [
        Item(
            _item_id(conversation, completion.position, index, parts),
            parts,
            index == last and completion.finish in _INCOMPLETE,
        )
        for index, parts in enumerate(groups)
    ]


def _item_id(conversation: Conversation, turn: int, index: int, parts: tuple[Part, ...]) -> str:
    first = parts[0]
    stored = conversation.options["store"]
    if isinstance(first, Thinking):
        return reasoning_id(turn, index)
    if isinstance(first, WebSearch):
        return f"ws_fake{turn}i{index}"
    if isinstance(first, Call):
        return call_item_id(turn, index, first) if stored else f"fc_fake{turn}i{index}"
    text = "".join(part.text for part in parts if isinstance(part, Text))
    return message_id(turn, index, text) if stored else f"msg_fake{turn}i{index}"


def render_item(conversation: Conversation, item: Item, *, begun: bool = False) -> dict[str, Any]:
    """An output item; `begun` is how it looks before anything of it was said."""
    first = item.parts[0]
    status = "in_progress" if begun else item.status
    if isinstance(first, Thinking):
        return _reasoning(conversation, item, first, begun)
    if isinstance(first, Call):
        return {
            "id": item.id,
            "type": "function_call",
            "status": status,
            "arguments": "" if begun else first.arguments,
            "call_id": first.id,
            "name": first.name,
        }
    if isinstance(first, WebSearch):
        action = {"type": "search", "query": first.query}
        return {"id": item.id, "type": "web_search_call", "status": status, "action": action}
    content = [] if begun else [content_part(part) for part in words(item)]
    return {
        "id": item.id,
        "type": "message",
        "status": status,
        "content": content,
        "role": "assistant",
    }


def words(item: Item) -> list[Words]:
    """The content of a message item."""
    return [part for part in item.parts if isinstance(part, Text | Refusal)]


def content_part(part: Words, *, begun: bool = False) -> dict[str, Any]:
    """A part of a message; `begun` is how it looks before anything of it was said."""
    text = "" if begun else part.text
    if isinstance(part, Refusal):
        return {"type": "refusal", "refusal": text}
    return {"type": "output_text", "annotations": [], "logprobs": [], "text": text}


def _reasoning(
    conversation: Conversation, item: Item, thinking: Thinking, begun: bool
) -> dict[str, Any]:
    form: dict[str, Any] = {
        "id": item.id,
        "type": "reasoning",
        "summary": [] if begun else [{"type": "summary_text", "text": thinking.text}],
    }
    if conversation.options["encrypted_reasoning"]:
        form["encrypted_content"] = "" if begun else thinking.signature or sign(thinking.text)
    return form


def response(
    conversation: Conversation, completion: Completion, output: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """The whole response."""
    reason = _INCOMPLETE.get(completion.finish)
    return {
        **_frame(conversation, completion, "incomplete" if reason else "completed"),
        "completed_at": None if reason else CREATED,
        "incomplete_details": {"reason": reason} if reason else None,
        "output": output,
        "usage": _usage(completion.usage),
    }


def begun(conversation: Conversation, completion: Completion) -> dict[str, Any]:
    """The response as the first events show it."""
    return {
        **_frame(conversation, completion, "in_progress"),
        "completed_at": None,
        "incomplete_details": None,
        "output": [],
        "usage": None,
    }


def _frame(conversation: Conversation, completion: Completion, status: str) -> dict[str, Any]:
    """What stands around the output."""
    return {
        "id": response_id(conversation, completion),
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "background": False,
        "error": None,
        "model": completion.model,
        **conversation.options["echo"],
    }


def _usage(tokens: Tokens) -> dict[str, Any]:
    """Cached tokens stand inside `input_tokens`."""
    return {
        "input_tokens": tokens.prompt,
        "input_tokens_details": {
            "cached_tokens": tokens.cached,
            "cache_write_tokens": tokens.written,
        },
        "output_tokens": tokens.completion,
        "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
        "total_tokens": tokens.total,
    }


Event = tuple[str, dict[str, Any], int]

_encode = msgspec.json.Encoder().encode


def render_stream(conversation: Conversation, completion: Completion) -> Iterator[Frame]:
    """The events as bytes, numbered from 0; there is no `[DONE]` in this dialect."""
    numbers = count()
    for kind, data, tokens in events(conversation, completion):
        yield frame(kind, {"sequence_number": next(numbers), **data}, tokens)


def frame(kind: str, data: dict[str, Any], tokens: int = 0) -> Frame:
    """One event: its name on a line of its own and in the data."""
    body = _encode({"type": kind, **data})
    return Frame(b"event: %b\ndata: %b\n\n" % (kind.encode(), body), tokens)


def events(conversation: Conversation, completion: Completion) -> Iterator[Event]:
    """Names, data and output tokens of the events."""
    start = begun(conversation, completion)
    yield "response.created", {"response": start}, 0
    yield "response.in_progress", {"response": start}, 0
    output = []
    for index, item in enumerate(items(conversation, completion)):
        place = {"output_index": index}
        opened = render_item(conversation, item, begun=True)
        yield "response.output_item.added", {**place, "item": opened}, _frame_tokens(item)
        yield from _inside(item, {"item_id": item.id, **place})
        output.append(render_item(conversation, item))
        yield "response.output_item.done", {**place, "item": output[-1]}, 0
    whole = response(conversation, completion, output)
    yield f"response.{whole['status']}", {"response": whole}, 0


def _frame_tokens(item: Item) -> int:
    """The tokens of an item's start."""
    return 1 if isinstance(item.parts[0], Call) else 0


def _inside(item: Item, place: dict[str, Any]) -> Iterator[Event]:
    """The events between the start and the end of an item."""
    first = item.parts[0]
    if isinstance(first, Call):
        yield from _call(first, place)
    elif isinstance(first, Thinking):
        yield from _summary(first, place)
    elif isinstance(first, WebSearch):
        for step in ("in_progress", "searching", "completed"):
            yield f"response.web_search_call.{step}", place, 0
    else:
        for index, part in enumerate(words(item)):
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


_FINISH = {"max_output_tokens": "length", "content_filter": "content_filter"}
_LAST = ("response.completed", "response.incomplete")
_FAILED = ("response.failed", "error")


def read_whole(body: bytes) -> Written:
    """The reply in a `response`."""
    return _written(json.loads(body))


def read_stream(body: bytes) -> Written:
    """The reply in the last event, which has the whole response."""
    for event in read_events(body):
        if event["type"] in _FAILED:
            raise NotAnAnswer(f"the stream has an error: {json.dumps(event)[:200]}")
        if event["type"] in _LAST:
            return _written(event["response"])
    raise NotAnAnswer("the stream broke off")


def _written(answer: Mapping[str, Any]) -> Written:
    """The reply; raises `NotAnAnswer` for one that failed."""
    status = answer.get("status", "completed")
    if status not in ("completed", "incomplete"):
        raise NotAnAnswer(f"its status is {status!r}")
    reason = (answer.get("incomplete_details") or {}).get("reason") or ""
    said = [piece for output in answer["output"] for piece in _read_item(output)]
    return written(said, _FINISH.get(reason), _read_usage(answer.get("usage") or {}))


def _read_item(item: Mapping[str, Any]) -> Iterator[Said]:
    """An item as pieces of a reply."""
    kind = item["type"]
    if kind == "message":
        for part in item["content"]:
            refused = part["type"] == "refusal"
            yield ("refuse", part["refusal"]) if refused else ("say", part["text"])
    elif kind == "reasoning":
        yield "think", "".join(part["text"] for part in item.get("summary") or [])
    elif kind == "function_call":
        yield written_call(item["call_id"], item["name"], item["arguments"])
    else:
        raise NotAnAnswer(f"an item of type {kind!r} cannot be written down")


def _read_usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    """In a script's terms."""
    if "input_tokens" not in usage:
        return {}
    counts = {
        "prompt_tokens": usage["input_tokens"],
        "completion_tokens": usage.get("output_tokens"),
    }
    cached = (usage.get("input_tokens_details") or {}).get("cached_tokens")
    return {**counts, "cached_tokens": cached} if cached else counts
