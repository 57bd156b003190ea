"""Anthropic Messages: `POST /v1/messages`, whole or streamed.

Source: Anthropic's API reference, "Create a Message"; rules about tool results from "Handling tool
calls": they follow the calls at once, in one user message, before any text.

Source of the shapes: Anthropic's API reference, "Create a Message" and "Streaming Messages". A
whole message is read as blocks that start and get no deltas, so that the two cannot differ.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any

import msgspec

from fakeprovider_harness.models.base import (
    Call,
    Message,
    ModelReply,
    ToolSpec,
    count,
    estimate_open,
    inclusive,
)
from fakeprovider_harness.models.client import HttpModel, speaks
from fakeprovider_harness.models.errors import Unreadable, stream_error
from fakeprovider_harness.models.exchange import Assembler
from fakeprovider_harness.models.messages_blocks import Block, calls_of, opaque_of, text_of
from fakeprovider_harness.models.sse import Event
from fakeprovider_harness.models.wire import Decoder, mend, raw, safe_name, split_system

_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "pause_turn": "pause",
    "model_context_window_exceeded": "context_window",
}
_FIELDS = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
)


class _Message(msgspec.Struct, frozen=True):
    model: str | None = None
    content: list[dict[str, Any]] | None = None
    stop_reason: str | None = None
    usage: Any = None
    type: str | None = None
    error: Any = None


class _Delta(msgspec.Struct, frozen=True):
    stop_reason: str | None = None
    type: str | None = None
    text: str | None = None
    partial_json: str | None = None
    thinking: str | None = None
    signature: str | None = None
    citation: Any = None


class _Event(msgspec.Struct, frozen=True):
    type: str | None = None
    message: _Message | None = None
    index: int = 0
    content_block: dict[str, Any] | None = None
    delta: _Delta | None = None
    usage: Any = None
    error: Any = None


_EVENT = Decoder(_Event)
_WHOLE = Decoder(_Message)


class MessagesAssembler(Assembler):
    """Events in, reply out. `made_up` begins the ids of calls that have none.

    Usage in `message_delta` is cumulative: it supersedes what `message_start` said, and a field
    that is absent keeps its value. Events out of order (a delta before `message_start`, a second
    `message_start`) raise `Unreadable`.
    """

    def __init__(self, made_up: str, on_text: Callable[[str], None] | None = None) -> None:
        super().__init__(made_up, on_text)
        self._blocks: dict[int, Block] = {}
        self._stop: str | None = None
        self._started = False

    @property
    def complete(self) -> bool:
        """The message said why it stopped, or that it did."""
        return self._started and (self.ended or self._stop is not None)

    def feed(self, event: Event) -> None:
        """Take one event; raise `ModelError` for an error event, `Unreadable` for nonsense."""
        parsed = _EVENT.decode(event.data)
        kind = parsed.type or event.event
        if kind == "error" or parsed.error:
            raise stream_error(parsed.error, self.partial() if self._started else None)
        if kind == "message_start":
            self._start(parsed.message or _Message())
        elif kind in ("content_block_start", "content_block_delta", "message_delta"):
            self._go_on(kind, parsed)
        elif kind == "message_stop":
            self.ended = True

    def take(self, data: bytes) -> None:
        """Take one whole message."""
        message = _WHOLE.decode(data)
        if message.error:
            raise stream_error(message.error, None)
        if message.content is None:
            raise Unreadable("a message without content")
        self._start(message)
        for index, block in enumerate(message.content):
            self._open(index, block)
        self._stop = message.stop_reason
        self.ended = True

    def reply(self) -> ModelReply:
        """The whole reply."""
        reply = self._built()
        if any(not call.name for call in reply.calls):
            raise Unreadable("a tool call without a name")
        return reply

    def partial(self) -> ModelReply:
        """What is there, for the bill: never raises."""
        hidden = sum(block.hidden_bytes for block in self._blocks.values())
        return estimate_open(self._built(), hidden)

    def _start(self, message: _Message) -> None:
        if self._started:
            raise Unreadable("a second message_start before message_stop")
        self._started = True
        self._model = message.model
        self._note(message.usage)

    def _go_on(self, kind: str, event: _Event) -> None:
        if not self._started:
            raise Unreadable(f"{kind} before message_start")
        if kind == "content_block_start":
            self._open(event.index, event.content_block or {})
        elif kind == "message_delta":
            self._stop = (event.delta.stop_reason if event.delta else None) or self._stop
            self._note(event.usage)
        else:
            self._grow(event.index, event.delta or _Delta())

    def _open(self, index: int, raw: dict[str, Any]) -> None:
        block = self._blocks[index] = Block(raw)
        self._say(block.text)

    def _grow(self, index: int, delta: _Delta) -> None:
        block = self._blocks.get(index)
        if block is None:
            raise Unreadable(f"content_block_delta for block {index}, which never started")
        block.add(msgspec.structs.asdict(delta))
        self._say(delta.text if block.kind == "text" else None)

    def _say(self, text: str | None) -> None:
        if text and self._on_text:
            self._on_text(mend(text))

    def _note(self, usage: Any) -> None:
        for key in _FIELDS:
            self._counts.note(key, count(usage, key))
        self._counts.note("thinking", count(usage, "output_tokens_details", "thinking_tokens"))

    def _built(self) -> ModelReply:
        finish = _FINISH.get(self._stop or "", self._stop) or None
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        reply = ModelReply(
            text=text_of(blocks),
            calls=calls_of(blocks, self._made_up, cut=finish == "length"),
            finish=finish,
            model=self._model,
            opaque=opaque_of(blocks),
            notes=() if finish else ("the provider gave no stop reason",),
        )
        return self._with_usage(reply)

    def _with_usage(self, reply: ModelReply) -> ModelReply:
        """Input beside cache reads and writes becomes a prompt that includes them."""
        fresh, output, read, written = (self._counts.get(key) for key in _FIELDS)
        prompt = (fresh or 0) + (read or 0) + (written or 0)
        if not prompt or output is None:  # a prompt of 0 tokens is a service that does not count
            return reply
        usage, notes = inclusive(
            prompt,
            output,
            cached=read or 0,
            written=written or 0,
            reasoning=self._counts.get("thinking") or 0,
        )
        return msgspec.structs.replace(reply, usage=usage, notes=reply.notes + notes)


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


@speaks("messages")
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
