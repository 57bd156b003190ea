"""Chat completions: `POST /v1/chat/completions`, whole or streamed.

Source: OpenAI's API reference, "Create chat completion".
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import msgspec

from .base import Call, Message, ToolSpec
from .chat_stream import ChatAssembler
from .client import HttpModel
from .wire import raw, safe_name, short_id

_ID_LIMIT = 40
_NAME_LIMIT = 64


class ChatModel(HttpModel):
    """A client for any service that speaks chat completions; arguments as in `HttpModel`.

    `max_output_field` is the field that carries `max_output`: the reference has deprecated
    `max_tokens`, but some compatible services know no other.
    """

    path = "chat/completions"
    key_variable = "OPENAI_API_KEY"
    assembler = ChatAssembler
    stream_fields: ClassVar[dict[str, Any]] = {
        "stream": True,
        "stream_options": {"include_usage": True},
    }

    def __init__(
        self,
        base_url: str | None = None,
        model: str = "default",
        api_key: str | None = None,
        *,
        max_output_field: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens",
        **settings: Any,
    ) -> None:
        super().__init__(base_url, model, api_key, **settings)
        self.max_output_field = max_output_field

    @staticmethod
    def _entry(message: Message) -> msgspec.Raw:
        return raw(_message(message))

    @staticmethod
    def _tool(tool: ToolSpec) -> dict[str, Any]:
        return {"type": "function", "function": msgspec.structs.asdict(tool)}

    def _input(self, entries: list[Any]) -> dict[str, Any]:
        return {"messages": entries}


def _message(message: Message) -> dict[str, Any]:
    if message.role == "assistant":
        return _assistant(message)
    entry = {"role": message.role, "content": message.content or ""}
    if message.role == "tool":
        entry["tool_call_id"] = short_id(message.call_id or "", _ID_LIMIT)
    return entry


def _assistant(message: Message) -> dict[str, Any]:
    if not message.calls:  # null without calls and `tool_calls: []` are both refused
        return {"role": "assistant", "content": message.content or ""}
    return {
        "role": "assistant",
        "content": message.content,
        "tool_calls": [_call(call) for call in message.calls],
        **message.opaque.get("chat", {}),
    }


def _call(call: Call) -> dict[str, Any]:
    return {
        "id": short_id(call.id, _ID_LIMIT),
        "type": "function",
        "function": {"name": safe_name(call.name, _NAME_LIMIT), "arguments": call.arguments},
    }
