"""Anthropic Messages: a finished reply as one message or as the documented order of events, and
read back from either.

Shapes after the API reference ("Messages", "Streaming Messages") and the official SDK's types.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import msgspec

from fakeprovider.completion import Completion
from fakeprovider.conversation import Call, Conversation
from fakeprovider.parsing.partial_json import complete_object
from fakeprovider.parsing.thinking import sign
from fakeprovider.protocols.answers import (
    NotAnAnswer,
    Said,
    Written,
    read_events,
    written,
    written_call,
)
from fakeprovider.protocols.dialect import Frame
from fakeprovider.replies import Finish, Refusal, Text, Thinking, WebSearch
from fakeprovider.tokens import pieces

STOP_REASONS: Final[dict[Finish, str]] = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",  # "when streaming classifiers intervene"
    "refusal": "refusal",
    "stop_sequence": "stop_sequence",
    "pause": "pause_turn",
    "context_window": "model_context_window_exceeded",
}
"""The seven documented stop reasons."""

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found: the block after the search's own, under its id."""

    id: str
    search: WebSearch


@dataclass(frozen=True, slots=True)
class Searched:
    """A search of the service's own, with its id."""

    id: str
    search: WebSearch


Block: TypeAlias = Text | Call | Thinking | Refusal | Searched | Found


def message(conversation: Conversation, completion: Completion) -> dict[str, Any]:
    """The whole message."""
    return {
        **_opening(conversation, completion),
        "content": [_block(part) for part in _blocks(conversation, completion)],
        **_ending(completion),
        "usage": _usage(completion, completion.usage.completion),
    }


def render_stream(conversation: Conversation, completion: Completion) -> Iterator[Frame]:
    """The events of a streamed message, from `message_start` to `message_stop`."""
    usage = _usage(completion, min(1, completion.usage.completion))
    ending = dict.fromkeys(_ending(completion))
    opening = {**_opening(conversation, completion), "content": [], **ending, "usage": usage}
    yield frame("message_start", {"message": opening})
    yield frame("ping", {})
    for index, part in enumerate(_blocks(conversation, completion)):
        yield frame("content_block_start", {"index": index, "content_block": _empty(part)})
        for delta, carried in _deltas(part):
            yield frame("content_block_delta", {"index": index, "delta": delta}, carried)
        yield frame("content_block_stop", {"index": index})
    totals = _usage(completion, completion.usage.completion)
    del totals["service_tier"], totals["cache_creation"]  # not in the reference for this event
    yield frame("message_delta", {"delta": _ending(completion), "usage": totals})
    yield frame("message_stop", {})


def frame(kind: str, data: dict[str, Any], tokens: int = 0) -> Frame:
    """One event: its name on a line of its own and in the data."""
    body = _encode({"type": kind, **data})
    return Frame(b"event: %b\ndata: %b\n\n" % (kind.encode(), body), tokens)


def render_whole(conversation: Conversation, completion: Completion) -> bytes:
    """A `message` object."""
    return _encode(message(conversation, completion))


def _opening(conversation: Conversation, completion: Completion) -> dict[str, Any]:
    """What is known of the message at its start."""
    done = conversation.options["searches_done"]
    return {
        "id": f"msg_fake{completion.position}" + (f"s{done}" if done else ""),
        "type": "message",
        "role": "assistant",
        "model": completion.model,
    }


def _ending(completion: Completion) -> dict[str, Any]:
    """What is known at its end: why it stopped."""
    return {
        "stop_reason": STOP_REASONS[completion.finish],
        "stop_sequence": completion.stop_sequence,
        "stop_details": _stop_details(completion),
    }


def _stop_details(completion: Completion) -> dict[str, Any] | None:
    if STOP_REASONS[completion.finish] != "refusal":
        return None
    words = "".join(part.text for part in completion.parts if isinstance(part, Refusal))
    return {"type": "refusal", "category": None, "explanation": words or None}


def _blocks(conversation: Conversation, completion: Completion) -> list[Block]:
    """What makes a block: a search makes two, a text without text none: it may not come back."""
    blocks: list[Block] = []
    searches = conversation.options["searches_done"]
    for part in completion.parts:
        if isinstance(part, WebSearch):
            own = f"srvtoolu_fake{completion.position}s{searches}"
            blocks += [Searched(own, part), Found(own, part)]
            searches += 1
        elif not isinstance(part, Text) or part.text:
            blocks.append(part)
    return blocks


def _block(part: Block) -> dict[str, Any]:
    """A block as it is when it is whole."""
    if isinstance(part, Searched):
        return {**_empty(part), "input": {"query": part.search.query}}
    if isinstance(part, Found):
        return _empty(part)
    if isinstance(part, Call):
        return {"type": "tool_use", "id": part.id, "name": part.name, "input": _input(part)}
    if isinstance(part, Thinking):
        return {"type": "thinking", "thinking": part.text, "signature": _signature(part)}
    return {"type": "text", "text": part.text}


def _input(call: Call) -> Any:
    """The input as an object, which this dialect insists on, whatever the script wrote.

    Digits stay as they were written. What is no object at all is wrapped as the documentation of
    fine-grained tool streaming says to ("handling invalid JSON").
    """
    try:
        if isinstance(msgspec.json.decode(call.arguments), dict):
            return msgspec.Raw(call.arguments.encode())
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        pass  # cut short or malformed: below
    completed = complete_object(call.arguments)
    return {"INVALID_JSON": call.arguments} if completed is None else completed


def _empty(part: Block) -> dict[str, Any]:
    """A block as it begins; a result is whole from the start."""
    if isinstance(part, Searched):
        return {"type": "server_tool_use", "id": part.id, "name": "web_search", "input": {}}
    if isinstance(part, Found):
        return {
            "type": "web_search_tool_result",
            "tool_use_id": part.id,
            "content": [_page(part.search)],
        }
    if isinstance(part, Call):
        return {"type": "tool_use", "id": part.id, "name": part.name, "input": {}}
    if isinstance(part, Thinking):
        return {"type": "thinking", "thinking": "", "signature": ""}
    return {"type": "text", "text": ""}


def _page(search: WebSearch) -> dict[str, Any]:
    """The page that a search found."""
    return {
        "type": "web_search_result",
        "title": search.title,
        "url": search.url,
        "encrypted_content": sign(search.title),
        "page_age": None,
    }


def _deltas(part: Block) -> Iterator[tuple[dict[str, Any], int]]:
    """Deltas and the tokens they carry. Input is only ever sent in deltas, the first one empty."""
    if isinstance(part, Found):
        return
    if isinstance(part, Searched):
        query = _encode({"query": part.search.query}).decode()
        yield {"type": "input_json_delta", "partial_json": ""}, 0
        yield {"type": "input_json_delta", "partial_json": query}, 0
        return
    if isinstance(part, Call):
        yield {"type": "input_json_delta", "partial_json": ""}, 1
        for piece in pieces(part.arguments):
            yield {"type": "input_json_delta", "partial_json": piece}, 1
    elif isinstance(part, Thinking):
        for piece in pieces(part.text):
            yield {"type": "thinking_delta", "thinking": piece}, 1
        yield {"type": "signature_delta", "signature": _signature(part)}, 0
    else:
        for piece in pieces(part.text):
            yield {"type": "text_delta", "text": piece}, 1


def _signature(part: Thinking) -> str:
    return sign(part.text) if part.signature is None else part.signature


def _usage(completion: Completion, output: int) -> dict[str, Any]:
    """Totals so far: cached tokens stand beside `input_tokens`, not inside."""
    tally = completion.usage
    searches = sum(isinstance(part, WebSearch) for part in completion.parts)
    usage = {
        "input_tokens": max(0, tally.prompt - tally.cached - tally.written),
        "cache_creation_input_tokens": tally.written,
        "cache_read_input_tokens": tally.cached,
        "cache_creation": {
            "ephemeral_5m_input_tokens": tally.written,
            "ephemeral_1h_input_tokens": 0,
        },
        "output_tokens": output,
        "service_tier": "standard",
    }
    if tally.reasoning:
        usage["output_tokens_details"] = {"thinking_tokens": min(tally.reasoning, output)}
    if searches:
        usage["server_tool_use"] = {"web_search_requests": searches, "web_fetch_requests": 0}
    return usage


_FINISH = {
    "max_tokens": "length",
    "refusal": "refusal",
    "stop_sequence": "stop_sequence",
    "model_context_window_exceeded": "context_window",
}
"""Stop reasons that do not follow from the rest, in a script's words."""

_DELTA_FIELDS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "input_json_delta": "partial_json",
}


def read_whole(body: bytes) -> Written:
    """The reply in a `message`."""
    answer = json.loads(body)
    return _written(answer["content"], answer.get("stop_reason"), answer.get("usage") or {})


def read_stream(body: bytes) -> Written:
    """The reply that the events add up to, from `message_start` to `message_stop`."""
    blocks: dict[int, dict[str, Any]] = {}
    ending: dict[str, Any] = {}
    usage: dict[str, Any] = {}
    for event in read_events(body):
        kind = event["type"]
        if kind == "error":
            raise NotAnAnswer(f"the stream has an error: {event['error']['message']}")
        if kind == "message_start":
            usage |= event["message"].get("usage") or {}
        elif kind == "content_block_start":
            blocks[event["index"]] = {**event["content_block"], "partial_json": ""}
        elif kind == "content_block_delta":
            _add_delta(blocks[event["index"]], event["delta"])
        elif kind == "message_delta":
            ending |= event["delta"]
            usage |= event.get("usage") or {}
        elif kind == "message_stop":
            return _written(blocks.values(), ending.get("stop_reason"), usage)
    raise NotAnAnswer("the stream broke off")


def _add_delta(block: dict[str, Any], delta: Mapping[str, Any]) -> None:
    name = _DELTA_FIELDS.get(delta["type"])
    if name is not None:
        block[name] += delta[name]


def _written(
    blocks: Iterable[Mapping[str, Any]], reason: str | None, usage: Mapping[str, Any]
) -> Written:
    """The reply; raises `NotAnAnswer` where a script could not give it."""
    if reason == "pause_turn":
        raise NotAnAnswer("a turn that pauses (pause_turn) cannot be written down")
    words = "refuse" if reason == "refusal" else "say"
    parts = (_read_block(block, words) for block in blocks)
    return written(parts, _FINISH.get(reason or ""), _read_usage(usage))


def _read_block(block: Mapping[str, Any], words: str) -> Said:
    """A block as a piece of a reply."""
    kind = block["type"]
    if kind == "text":
        return words, block["text"]
    if kind == "thinking":
        return "think", block["thinking"]
    if kind == "redacted_thinking":
        return "think", ""
    if kind == "tool_use":
        return written_call(block["id"], block["name"], _read_input(block))
    raise NotAnAnswer(f"a block of type {kind!r} cannot be written down")


def _read_input(block: Mapping[str, Any]) -> str:
    """The input as compact JSON, however it was spaced in its deltas; text if it was cut short."""
    sent: str = block.get("partial_json") or ""
    try:
        value = json.loads(sent) if sent else block["input"]
    except ValueError:
        return sent
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _read_usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    """In a script's terms: cached tokens are part of the prompt."""
    if "input_tokens" not in usage:
        return {}
    cached = usage.get("cache_read_input_tokens") or 0
    prompt = usage["input_tokens"] + cached + (usage.get("cache_creation_input_tokens") or 0)
    counts = {"prompt_tokens": prompt, "completion_tokens": usage.get("output_tokens")}
    return {**counts, "cached_tokens": cached} if cached else counts
