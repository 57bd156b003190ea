"""Responses as a service sends them, event by event."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from fakeprovider_harness.models import (
    Call,
    Message,
    ModelError,
    ModelReply,
    ResponsesModel,
)
from fakeprovider_harness.models.responses import ResponsesAssembler
from fakeprovider_harness.models.sse import SSEParser

USER = [Message("user", "hi")]


A, B = Call("A", "tool_a", '{"t":"A"}'), Call("B", "tool_b", '{"t":"B"}')


USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 0},
    "output_tokens": 9,
    "output_tokens_details": {"reasoning_tokens": 5},
    "total_tokens": 109,
}


def call_item(call: Call, **more: Any) -> dict[str, Any]:
    item = {"type": "function_call", "id": f"fc_{call.id}", "call_id": call.id, "name": call.name}
    return {**item, "arguments": call.arguments, "status": "completed", **more}


def text_item(text: str, **more: Any) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {
        **{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"},
        **{"content": [part], **more},
    }


def response(*output: Any, status: str = "completed", **more: Any) -> dict[str, Any]:
    fields = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m"}
    return {**fields, "status": status, "output": list(output), "usage": USAGE, **more}


def begun(wire: Any) -> list[bytes]:
    started = response(status="in_progress", usage=None)
    return [
        wire.E("response.created", sequence_number=0, response=started),
        wire.E("response.in_progress", sequence_number=1, response=started),
    ]


def item_events(wire: Any, index: int, item: dict[str, Any], *, done: bool = True) -> list[bytes]:
    """The events of one item: added empty, its pieces, done."""
    where = {"item_id": item["id"], "output_index": index}
    events = [_added(wire, index, item)]
    if item["type"] == "function_call":
        events += [
            wire.E("response.function_call_arguments.delta", delta=piece, **where)
            for piece in (item["arguments"][:3], item["arguments"][3:])
        ]
        events.append(
            wire.E("response.function_call_arguments.done", arguments=item["arguments"], **where)
        )
    for i, part in enumerate(item.get("content") or ()):
        events.append(wire.E("response.content_part.added", content_index=i, part={}, **where))
        events += [
            wire.E("response.output_text.delta", content_index=i, delta=piece, **where)
            for piece in (part["text"][:2], part["text"][2:])
        ]
        events.append(
            wire.E("response.output_text.done", content_index=i, text=part["text"], **where)
        )
    finished = wire.E("response.output_item.done", output_index=index, item=item)
    return [*events, finished] if done else events


def _added(wire: Any, index: int, item: dict[str, Any]) -> bytes:
    empty: dict[str, Any] = {"content": [], "arguments": "", "status": "in_progress"}
    start = {key: empty.get(key, value) for key, value in item.items()}
    event: bytes = wire.E("response.output_item.added", output_index=index, item=start)
    return event


def ended(wire: Any, *output: Any, **more: Any) -> bytes:
    full = response(*output, **more)
    event: bytes = wire.E(f"response.{full['status']}", sequence_number=99, response=full)
    return event


def reply_to(wire: Any, events: Any, **settings: Any) -> ModelReply:
    reply: ModelReply = wire.reply(events, ResponsesModel, **settings)
    return reply


def error_of(wire: Any, events: Any, **settings: Any) -> ModelError:
    error: ModelError = wire.error(events, ResponsesModel, **settings)
    return error


def sent(wire: Any, messages: list[Message], tools: Any = (), **settings: Any) -> Any:
    answer = wire.json(json.dumps(response(text_item("x"))).encode())
    return wire.sent(messages, tools, ResponsesModel, answer, **settings)


def assembled(events: list[bytes]) -> ModelReply:
    assembler, parser = ResponsesAssembler("made"), SSEParser()
    for event in parser.feed(b"".join(events)):
        assembler.feed(event)
    return assembler.reply()


_TEXT = st.text(max_size=12)


REASONING = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "hm"}],
    "encrypted_content": "gAAA",
}
