"""The Responses API: `POST /v1/responses`, whole or streamed, without anything stored.

Source: OpenAI's API reference, "Create a model response", and "Conversation state": the whole
history goes as `input`, reasoning items included, with `store` off.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from .base import Call, Message, ToolSpec
from .client import HttpModel
from .responses_stream import ResponsesAssembler
from .wire import raw, safe_name, short_id, split_system

_ID_LIMIT = 64
_NAME_LIMIT = 64


class _Entry(msgspec.Struct, frozen=True):
    """One message as input items."""

    role: str
    items: tuple[msgspec.Raw, ...]
    text: str


class ResponsesModel(HttpModel):
    """A client for any service that speaks Responses; arguments as in `HttpModel`.

    Leading system messages become `instructions`, later ones stay where they are. Models that
    reason need `options={"include": ["reasoning.encrypted_content"]}` where the service does not
    send it by itself: reasoning without its content cannot go back and is left out.
    """

    path = "responses"
    key_variable = "OPENAI_API_KEY"
    assembler = ResponsesAssembler
    max_output_field = "max_output_tokens"

    @staticmethod
    def _entry(message: Message) -> _Entry:
        text = message.content or ""
        return _Entry(message.role, tuple(raw(item) for item in _items(message, text)), text)

    @staticmethod
    def _tool(tool: ToolSpec) -> dict[str, Any]:
        # this API makes schemas strict unless told otherwise, and changes or refuses most of them
        return {"type": "function", **msgspec.structs.asdict(tool), "strict": False}

    def _input(self, entries: list[Any]) -> dict[str, Any]:
        system, rest = split_system(entries)
        body = {"input": [item for entry in rest for item in entry.items], "store": False}
        return {**body, "instructions": system} if system else body


def _items(message: Message, text: str) -> list[dict[str, Any]]:
    if message.role == "tool":
        call_id = short_id(message.call_id or "", _ID_LIMIT)
        return [{"type": "function_call_output", "call_id": call_id, "output": text}]
    if message.role != "assistant":
        return [{"role": message.role, "content": text}]
    kept = message.opaque.get("responses", {}).get("output", [])
    if restored := _restored(kept, message.calls) if kept else []:
        return restored
    said = [{"role": "assistant", "content": text}] if text or not message.calls else []
    return said + [_call(call) for call in message.calls]


def _restored(kept: list[dict[str, Any]], calls: Sequence[Call]) -> list[dict[str, Any]]:
    """The items as they were received, with the calls as the transcript has them."""
    waiting = list(calls)
    items = []
    for item in kept:
        if item.get("type") != "function_call":
            items.append(item)
        elif waiting:
            items.append({**item, **_call(waiting.pop(0))})
    items += [_call(call) for call in waiting]
    while items and items[-1].get("type") == "reasoning":
        items.pop()  # reasoning that led to nothing (of a cut reply) is refused
    return items


def _call(call: Call) -> dict[str, Any]:
    return {
        "type": "function_call",
        "call_id": short_id(call.id, _ID_LIMIT),
        "name": safe_name(call.name, _NAME_LIMIT),
        "arguments": call.arguments,
    }
