"""Anthropic Messages: a finished reply as one message or as the documented order of events.

Shapes after the API reference ("Messages", "Streaming Messages") and the official SDK's types.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from fakeprovider.completion import Completion, Part, Tally
from fakeprovider.conversation import Call, Conversation
from fakeprovider.partial_json import complete_object
from fakeprovider.protocols.base import Frame
from fakeprovider.replies import Finish, Refusal, Text, Thinking
from fakeprovider.signatures import sign
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


def message(completion: Completion) -> dict[str, Any]:
    """The whole message."""
    return {
        **_opening(completion),
        "content": [_block(part) for part in _shown(completion)],
        **_ending(completion),
        "usage": _usage(completion.usage, completion.usage.completion),
    }


def events(completion: Completion) -> Iterator[Frame]:
    """The events of a streamed message, from `message_start` to `message_stop`."""
    usage = _usage(completion.usage, min(1, completion.usage.completion))
    ending = dict.fromkeys(_ending(completion))
    opening = {**_opening(completion), "content": [], **ending, "usage": usage}
    yield frame("message_start", {"message": opening})
    yield frame("ping", {})
    for index, part in enumerate(_shown(completion)):
        yield frame("content_block_start", {"index": index, "content_block": _empty(part)})
        for delta, carried in _deltas(part):
            yield frame("content_block_delta", {"index": index, "delta": delta}, carried)
        yield frame("content_block_stop", {"index": index})
    totals = _usage(completion.usage, completion.usage.completion)
    del totals["service_tier"], totals["cache_creation"]  # not in the reference for this event
    yield frame("message_delta", {"delta": _ending(completion), "usage": totals})
    yield frame("message_stop", {})


def frame(kind: str, data: dict[str, Any], tokens: int = 0) -> Frame:
    """One event: its name on a line of its own and in the data."""
    body = _encode({"type": kind, **data})
    return Frame(b"event: %b\ndata: %b\n\n" % (kind.encode(), body), tokens)


def render_whole(conversation: Conversation, completion: Completion) -> bytes:
    """A `message` object."""
    return _encode(message(completion))


def render_stream(conversation: Conversation, completion: Completion) -> Iterator[Frame]:
    """The events of a streamed message."""
    return events(completion)


def _opening(completion: Completion) -> dict[str, Any]:
    return {
        "id": f"msg_fake{completion.position}",
        "type": "message",
        "role": "assistant",
        "model": completion.model,
    }


def _ending(completion: Completion) -> dict[str, Any]:
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


def _shown(completion: Completion) -> list[Part]:
    """The parts that make blocks: a text block without text is refused when it comes back."""
    return [part for part in completion.parts if not isinstance(part, Text) or part.text]


def _block(part: Part) -> dict[str, Any]:
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
    found = complete_object(call.arguments)
    return {"INVALID_JSON": call.arguments} if found is None else found


def _empty(part: Part) -> dict[str, Any]:
    if isinstance(part, Call):
        return {"type": "tool_use", "id": part.id, "name": part.name, "input": {}}
    if isinstance(part, Thinking):
        return {"type": "thinking", "thinking": "", "signature": ""}
    return {"type": "text", "text": ""}


def _deltas(part: Part) -> Iterator[tuple[dict[str, Any], int]]:
    """Deltas and the tokens they carry. Input is only ever sent in deltas, the first one empty."""
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


def _usage(tally: Tally, output: int) -> dict[str, Any]:
    """Totals so far: cached tokens stand beside `input_tokens`, not inside."""
    return {
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
