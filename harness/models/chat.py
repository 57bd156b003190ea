"""Chat completions: `POST /v1/chat/completions`, whole or streamed.

Source: OpenAI's API reference, "Create chat completion".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import httpx
import msgspec

from .base import Call, Message, ModelReply, ToolSpec
from .chat_stream import ChatAssembler
from .client import HttpModel
from .exchange import Assembler
from .timeouts import Timeouts
from .wire import Memo, ToolMemo, encode, raw, safe_name, short_id

_ID_LIMIT = 40
_NAME_LIMIT = 64


class ChatModel(HttpModel):
    """A client for any service that speaks chat completions; arguments as in `HttpModel`.

    `max_output_field` is the field that carries `max_output`: the reference has deprecated
    `max_tokens`, but some compatible services know no other.
    """

    path = "chat/completions"
    key_variable = "OPENAI_API_KEY"

    def __init__(
        self,
        base_url: str | None = None,
        model: str = "default",
        api_key: str | None = None,
        *,
        stream: bool = False,
        timeouts: Timeouts | None = None,
        headers: Mapping[str, str] | None = None,
        options: Mapping[str, Any] | None = None,
        max_output_field: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens",
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        super().__init__(
            base_url,
            model,
            api_key,
            stream=stream,
            timeouts=timeouts,
            headers=headers,
            options=options,
            transport=transport,
        )
        self._max_output_field = max_output_field
        self._memo = Memo(lambda message: raw(_message(message)))
        self._tools = ToolMemo(_tool)

    def _encode(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], max_output: int | None
    ) -> bytes:
        body: dict[str, Any] = {
            "model": self.name,
            "messages": self._memo.entries(messages),
            **self._options,
        }
        if tools:
            body["tools"] = self._tools.encoded(tools)
        if max_output is not None:
            body[self._max_output_field] = max_output
        if self.stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        return encode(body)

    def _assembler(
        self, messages: Sequence[Message], on_text: Callable[[str], None] | None
    ) -> Assembler:
        return ChatAssembler(f"call_{len(messages)}", on_text)

    def _whole(
        self, body: bytes, messages: Sequence[Message], on_text: Callable[[str], None] | None
    ) -> ModelReply:
        assembler = ChatAssembler(f"call_{len(messages)}", on_text)
        assembler.take(body)
        return assembler.reply()


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


def _tool(tool: ToolSpec) -> dict[str, Any]:
    return {"type": "function", "function": msgspec.structs.asdict(tool)}
