"""Anthropic Messages: `POST /v1/messages`, whole or streamed.

Source: Anthropic's API reference, "Create a Message"; rules about tool results from "Handling tool
calls": they follow the calls at once, in one user message, before any text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

import msgspec

from .base import Call, Message, ToolSpec
from .client import HttpModel
from .messages_stream import MessagesAssembler
from .wire import raw, safe_name, split_system

DEFAULT_MAX_OUTPUT = 8192
"""Tokens asked for where the loop sets no bound: the API requires one."""

_ID_LIMIT = 64
_NAME_LIMIT = 128
_EMPTY = {"type": "text", "text": "(no text)"}


class _Entry(msgspec.Struct, frozen=True):
    """One message as blocks: tool results apart, since they go first."""

    role: str
    others: tuple[msgspec.Raw, ...] = ()
    results: tuple[msgspec.Raw, ...] = ()
    text: str = ""


class MessagesModel(HttpModel):
    """A client for any service that speaks Anthropic Messages; arguments as in `HttpModel`.

    Leading system messages become `system`, later ones stay where they are. `max_output` defaults
    to `DEFAULT_MAX_OUTPUT` tokens; `options` may override that default with a `max_tokens`.
    """

    path = "messages"
    key_variable = "ANTHROPIC_API_KEY"
    assembler = MessagesAssembler
    max_output_field = "max_tokens"

    def _key_headers(self, key: str) -> dict[str, str]:
        return {"x-api-key": key}

    def _headers(self) -> dict[str, str]:
        return {"anthropic-version": "2023-06-01"}

    @staticmethod
    def _entry(message: Message) -> _Entry:
        if message.role == "tool":
            return _Entry("user", results=(raw(_result(message)),))
        if message.role == "assistant":
            return _Entry("assistant", tuple(raw(block) for block in _assistant(message)))
        return _Entry(message.role, _text(message.content), text=message.content or "")

    @staticmethod
    def _tool(tool: ToolSpec) -> dict[str, Any]:
        return {
            "name": tool.name,
            "description": tool.description,
            "input_schema": tool.parameters,
        }

    def _input(self, entries: list[Any]) -> dict[str, Any]:
        system, rest = split_system(entries)
        body = {"max_tokens": DEFAULT_MAX_OUTPUT, "messages": _merged(rest)}
        return {**body, "system": system} if system else body


def _merged(entries: Iterable[_Entry]) -> list[dict[str, Any]]:
    """Consecutive entries of one role as one message, tool results first."""
    merged: list[dict[str, Any]] = []
    for role, group in groupby(entries, key=lambda entry: entry.role):
        run = list(group)
        content: list[Any] = [block for entry in run for block in entry.results]
        content += [block for entry in run for block in entry.others]
        merged.append({"role": role, "content": content or [_EMPTY]})
    return merged


def _text(text: str | None) -> tuple[msgspec.Raw, ...]:
    """A text block, or none: empty and blank ones are refused."""
    return (raw({"type": "text", "text": text}),) if text and text.strip() else ()


def _result(message: Message) -> dict[str, Any]:
    block: dict[str, Any] = {
        "type": "tool_result",
        "tool_use_id": safe_name(message.call_id or "", _ID_LIMIT),
    }
    if message.content:
        block["content"] = message.content
    if message.outcome not in (None, "ok"):
        block["is_error"] = True
    return block


def _assistant(message: Message) -> list[dict[str, Any]]:
    kept = message.opaque.get("messages", {}).get("content", [])
    if restored := _restored(kept, message.calls) if kept else []:
        return restored
    said = bool((message.content or "").strip())
    text: list[dict[str, Any]] = [{"type": "text", "text": message.content}] if said else []
    return text + [_call(call) for call in message.calls]


def _restored(kept: list[dict[str, Any]], calls: Sequence[Call]) -> list[dict[str, Any]]:
    """The blocks as they were received, with the calls as the transcript has them."""
    waiting = list(calls)
    blocks = []
    for block in kept:
        if block.get("type") != "tool_use":
            blocks += [block] if _may_return(block) else []
        elif waiting:
            blocks.append({**block, **_call(waiting.pop(0))})
    return blocks + [_call(call) for call in waiting]


def _may_return(block: dict[str, Any]) -> bool:
    """Blank text and thinking without a signature (of a cut reply) are refused."""
    if block.get("type") == "thinking":
        return bool(block["signature"])
    return block.get("type") != "text" or bool(block["text"].strip())


def _call(call: Call) -> dict[str, Any]:
    return {
        "type": "tool_use",
        "id": safe_name(call.id, _ID_LIMIT),
        "name": safe_name(call.name, _NAME_LIMIT),
        "input": _input(call.arguments),
    }


def _input(arguments: str) -> Any:
    """The arguments as an object, which the API insists on."""
    try:
        value = json.loads(arguments.strip() or "{}")
    except (ValueError, RecursionError):
        value = arguments
    return value if isinstance(value, dict) else {"arguments": value}
