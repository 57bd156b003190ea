"""Chat completions: `POST /v1/chat/completions`, whole or streamed.

Source: OpenAI's API reference, "Create chat completion", "The chat completion object" and "… chunk
object".
A whole reply is read as a stream of one chunk, so that the two cannot differ.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import msgspec

from fakeprovider_harness.models.base import (
    Call,
    Message,
    ModelReply,
    ToolSpec,
    bytes_of,
    count,
    estimate_open,
)
from fakeprovider_harness.models.client import HttpModel, speaks
from fakeprovider_harness.models.errors import Unreadable, stream_error
from fakeprovider_harness.models.exchange import Assembler
from fakeprovider_harness.models.sse import Event
from fakeprovider_harness.models.wire import Decoder, mend, mend_arguments, raw, safe_name, short_id


class FunctionDelta(msgspec.Struct, frozen=True):
    """Part of a function call; services that send `arguments` as an object exist."""

    name: str | None = None
    arguments: Any = None


class CallDelta(msgspec.Struct, frozen=True):
    """Part of a tool call as it stands on the wire."""

    index: int | None = None
    id: str | None = None
    function: FunctionDelta | None = None


@dataclass(slots=True)
class _Slot:
    """One call as its fragments come in."""

    order: int
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def add(self, delta: CallDelta) -> None:
        self.id = self.id or delta.id or ""
        if delta.function is not None:
            self.name = self.name or delta.function.name or ""
            self.arguments.append(_arguments(delta.function.arguments))

    def call(self, made_up: str, cut: bool) -> Call:
        arguments = mend_arguments("".join(self.arguments))
        if not cut and not arguments.strip():
            arguments = "{}"
        return Call(mend(self.id) or made_up, mend(self.name), arguments)


class CallAssembler:
    """Fragments in, calls out, in the order of their indexes.

    An `index` is honoured. Without one, a fragment with a non-empty id or a name opens a call, and
    one with neither continues the call opened last. A second id with a name at an index that is
    taken opens a call too, for services that number every call 0. Where a fragment could belong
    to several calls, `Unreadable` is raised: two right calls or an error, never a merged one.
    """

    def __init__(self) -> None:
        self._slots: list[_Slot] = []
        self._open: dict[int, _Slot] = {}

    def feed(self, deltas: Sequence[CallDelta]) -> None:
        """Take the fragments of one chunk."""
        if sum(_is_bare(d) for d in deltas) > 1:
            raise Unreadable("several tool call fragments without index, id or name in one chunk")
        for delta in deltas:
            self._slot(delta).add(delta)

    def calls(self, made_up: str, *, cut: bool) -> tuple[Call, ...]:
        """The calls so far. Missing ids become `{made_up}_{position}`.

        Empty arguments are the empty object, unless the reply was `cut`: then they may be half.
        """
        slots = sorted(self._slots, key=lambda slot: slot.order)
        return tuple(slot.call(f"{made_up}_{i}", cut) for i, slot in enumerate(slots))

    def _slot(self, delta: CallDelta) -> _Slot:
        if delta.index is None:
            return self._unnumbered(delta)
        slot = self._open.get(delta.index)
        if slot is None or _is_another(slot, delta):
            return self._opened(delta.index)
        return slot

    def _unnumbered(self, delta: CallDelta) -> _Slot:
        last = self._slots[-1] if self._slots else None
        same = next((s for s in self._slots if delta.id and s.id == delta.id), None)
        if same is not None:
            return same
        if last is not None and (_is_bare(delta) or _completes(last, delta)):
            return last
        if _is_bare(delta):
            raise Unreadable("tool call arguments before any tool call")
        return self._opened(max(self._open, default=-1) + 1)

    def _opened(self, order: int) -> _Slot:
        slot = _Slot(order)
        self._slots.append(slot)
        self._open[order] = slot
        return slot


def _name(delta: CallDelta) -> str:
    return (delta.function.name if delta.function else None) or ""


def _is_bare(delta: CallDelta) -> bool:
    return delta.index is None and not delta.id and not _name(delta)


def _completes(last: _Slot, delta: CallDelta) -> bool:
    """Whether `delta` brings the name that the last call, opened by its id, still lacks."""
    return not delta.id and not last.name and not any(last.arguments)


def _is_another(slot: _Slot, delta: CallDelta) -> bool:
    return bool(delta.id and slot.id and delta.id != slot.id and slot.name and _name(delta))


def _arguments(arguments: Any) -> str:
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    return json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))


_FINISH = {
    "function_call": "tool_calls",
    "tool_use": "tool_calls",
    "end_turn": "stop",
    "eos": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
}


class _Message(msgspec.Struct, frozen=True):
    content: Any = None
    refusal: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[CallDelta] | None = None
    function_call: FunctionDelta | None = None


class _Choice(msgspec.Struct, frozen=True):
    index: int | None = 0
    delta: _Message | None = None
    message: _Message | None = None
    finish_reason: str | None = None


class _Chunk(msgspec.Struct, frozen=True):
    model: str | None = None
    choices: list[_Choice] | None = None
    usage: Any = None
    error: Any = None


_CHUNK = Decoder(_Chunk)


class _ChoiceState:
    def __init__(self) -> None:
        self.text: list[str] = []
        self.refusal: list[str] = []
        self.reasoning: list[str] = []
        self.calls = CallAssembler()
        self.finish = ""

    def add(self, message: _Message) -> str:
        """Take one delta and return its text."""
        text = _text(message.content)
        self.text.append(text)
        self.refusal.append(message.refusal or "")
        self.reasoning.append(message.reasoning_content or "")
        self.calls.feed(message.tool_calls or ())
        if message.function_call is not None:
            self.calls.feed((CallDelta(0, None, message.function_call),))
        return text


class ChatAssembler(Assembler):
    """Chunks in, reply out. Choices are kept apart; the reply is the first one's.

    Calls are reported by their presence, whatever the finish reason says: services send `stop`
    beside a call and `tool_calls` beside none. `made_up` begins the ids of calls that have none.
    """

    def __init__(self, made_up: str, on_text: Callable[[str], None] | None = None) -> None:
        super().__init__(made_up, on_text)
        self._choices: dict[int, _ChoiceState] = {}

    @property
    def complete(self) -> bool:
        """Every choice said why it finished, or the end mark was seen after some reply."""
        choices = self._choices.values()
        return bool(choices) and (self.ended or all(c.finish for c in choices))

    def feed(self, event: Event) -> None:
        """Take one event; raise `ModelError` for an error object, `Unreadable` for nonsense."""
        if event.data.strip() == b"[DONE]":
            self.ended = True
            return
        self.take(event.data)

    def take(self, data: bytes) -> None:
        """Take one chunk, or one whole completion."""
        chunk = _CHUNK.decode(data)
        if chunk.error:
            raise stream_error(chunk.error, self.partial() if self._begun else None)
        self._begun = True
        self._model = chunk.model or self._model
        self._note(chunk.usage)
        for choice in chunk.choices or ():
            self._add(choice)

    def reply(self, choice: int | None = None) -> ModelReply:
        """The reply of one choice, by default of the first."""
        index = min(self._choices, default=0) if choice is None else choice
        state = self._choices.get(index)
        if state is None:
            raise Unreadable("no choices")
        reply = self._built(state)
        if any(not call.name for call in reply.calls):
            raise Unreadable("a tool call without a name")
        return reply

    def partial(self) -> ModelReply:
        """What is there, for the bill: never raises."""
        state = self._choices.get(min(self._choices, default=0))
        if state is None:
            return ModelReply(model=self._model)
        return estimate_open(self._built(state), len("".join(state.reasoning).encode()))

    def _add(self, choice: _Choice) -> None:
        index = choice.index or 0
        state = self._choices.setdefault(index, _ChoiceState())
        message = choice.delta or choice.message
        text = state.add(message) if message else ""
        state.finish = choice.finish_reason or state.finish
        if index == min(self._choices):
            self._say(text)

    def _note(self, usage: Any) -> None:
        if not usage:
            return
        for key in ("prompt_tokens", "completion_tokens", "total_tokens"):
            self._counts.note(key, count(usage, key))
        for key in ("cached_tokens", "cache_write_tokens"):
            self._counts.note(key, count(usage, "prompt_tokens_details", key))
        self._counts.note(
            "reasoning", count(usage, "completion_tokens_details", "reasoning_tokens")
        )

    def _built(self, state: _ChoiceState) -> ModelReply:
        finish = _FINISH.get(state.finish, state.finish) or None
        refusal = mend("".join(state.refusal))
        calls = state.calls.calls(self._made_up, cut=finish == "length")
        if finish == "length":
            calls = tuple(call for call in calls if call.name)
        reply = ModelReply(
            text=mend("".join(state.text)) or refusal,
            calls=calls,
            finish="refusal" if refusal else finish,
            model=self._model,
            opaque=_reasoning(state) if calls else {},
            notes=() if finish else ("the provider gave no finish reason",),
        )
        return self._with_usage(reply)

    def _with_usage(self, reply: ModelReply) -> ModelReply:
        prompt = self._counts.get("prompt_tokens")
        if not prompt:  # a prompt of 0 tokens is a service that does not count
            return reply
        completion, guessed = self._completion(prompt, reply)
        usage, notes = self._usage(prompt, completion)
        if guessed:
            usage = msgspec.structs.replace(usage, estimated=True)
            notes += ("usage: completion tokens unknown, taken as bytes",)
        return msgspec.structs.replace(reply, usage=usage, notes=reply.notes + notes)

    def _completion(self, prompt: int, reply: ModelReply) -> tuple[int, bool]:
        known, total = self._counts.get("completion_tokens"), self._counts.get("total_tokens")
        if known is not None:
            return known, False
        if total is not None and total >= prompt:
            return total - prompt, False
        return bytes_of(reply), True


def _reasoning(state: _ChoiceState) -> dict[str, Any]:
    """Services that reason in the open want it back with the calls it led to."""
    text = mend("".join(state.reasoning))
    return {"chat": {"reasoning_content": text}} if text else {}


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(p["text"] for p in content if isinstance(p, dict) and _is_text(p))
    if content is None:
        return ""
    raise Unreadable(f"content is neither text nor parts: {type(content).__name__}")


def _is_text(part: dict[str, Any]) -> bool:
    return part.get("type", "text") == "text" and isinstance(part.get("text"), str)


_ID_LIMIT = 40
_NAME_LIMIT = 64


@speaks("chat")
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
