"""The Responses API: `POST /v1/responses`, whole or streamed, without anything stored.

Source: OpenAI's API reference, "Create a model response", and "Conversation state": the whole
history goes as `input`, reasoning items included, with `store` off; "The response object" and
"Streaming events". A whole response is read as its own last event, so that the two cannot differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from fakeprovider_harness.models.base import (
    Call,
    Message,
    ModelReply,
    ToolSpec,
    count,
    estimate_open,
)
from fakeprovider_harness.models.client import HttpModel, speaks
from fakeprovider_harness.models.errors import Unreadable, stream_error
from fakeprovider_harness.models.exchange import Assembler
from fakeprovider_harness.models.sse import Event
from fakeprovider_harness.models.wire import (
    Decoder,
    mend,
    mend_arguments,
    mend_tree,
    raw,
    safe_name,
    short_id,
    split_system,
)

_CALL_FIELDS = {"call_id", "name", "arguments"}
_PLAIN_MESSAGE = {"type", "id", "role", "status", "content"}
_PLAIN_CALL = {"type", "id", "status"}
_DIRECT = {"type": "direct"}


class Item:
    """One output item: what it was when it was added, what deltas brought, what it was when done.

    A finished item supersedes its pieces.
    """

    def __init__(self, start: dict[str, Any]) -> None:
        self._start = start
        self._text: dict[int, list[str]] = {}
        self._refusal: dict[int, list[str]] = {}
        self._arguments: list[str] = []
        self._done: dict[str, Any] | None = None
        self.hidden_bytes = 0

    @property
    def kind(self) -> str:
        """The item's type, such as `message`, `function_call`, `reasoning`."""
        return _str((self._done or self._start).get("type"))

    @property
    def text(self) -> str:
        """The text of a message so far, refusals excluded."""
        return self._joined("output_text", "text", self._text)

    @property
    def refusal(self) -> str:
        """The refusal of a message so far."""
        return self._joined("refusal", "refusal", self._refusal)

    def add(self, kind: str, content_index: int, delta: str) -> None:
        """Take one delta of an event type; other types only count as hidden output."""
        if kind == "response.output_text.delta":
            self._text.setdefault(content_index, []).append(delta)
        elif kind == "response.refusal.delta":
            self._refusal.setdefault(content_index, []).append(delta)
        elif kind == "response.function_call_arguments.delta":
            self._arguments.append(delta)
        else:
            self.hidden_bytes += len(delta.encode("utf-8", "surrogatepass"))

    def finish(self, item: dict[str, Any]) -> None:
        """The item is done, and this is all of it."""
        self._done = item

    def call(self, made_up: str, cut: bool) -> Call:
        """A `function_call` item as a call."""
        item = self._done or self._start
        text = "".join(self._arguments) if self._done is None else ""
        arguments = mend_arguments(text or _str(item.get("arguments")))
        if not cut and not arguments.strip():
            arguments = "{}"
        given = mend(_str(item.get("call_id")) or _str(item.get("id")))
        return Call(given or made_up, mend(_str(item.get("name"))), arguments)

    def raw(self) -> dict[str, Any]:
        """The item as it may be sent back; of a `function_call`, only what a call does not hold."""
        item = self._done or self._start
        skip = _CALL_FIELDS if self.kind == "function_call" else set()
        return {k: v for k, v in item.items() if v not in (None, _DIRECT) and k not in skip}

    @property
    def is_plain(self) -> bool:
        """Whether text and a call say all there is to say."""
        keys = set(self.raw())
        if self.kind == "function_call":
            return keys <= _PLAIN_CALL
        return self.kind == "message" and keys <= _PLAIN_MESSAGE and not self.refusal

    @property
    def may_return(self) -> bool:
        """Whether a service that stores nothing takes it back: reasoning needs its content."""
        item = self._done or self._start
        return self.kind != "reasoning" or bool(
            item.get("encrypted_content") or item.get("content")
        )

    def _joined(self, kind: str, key: str, deltas: dict[int, list[str]]) -> str:
        if self.kind != "message":
            return ""
        if self._done is None and deltas:
            return "".join("".join(deltas[index]) for index in sorted(deltas))
        parts = (self._done or self._start).get("content") or ()
        return "".join(_str(p.get(key)) for p in parts if _is(p, kind))


def calls_of(items: Iterable[Item], made_up: str, *, cut: bool) -> tuple[Call, ...]:
    """The calls in order; missing ids become `{made_up}_{position}`."""
    calls = (item for item in items if item.kind == "function_call")
    return tuple(item.call(f"{made_up}_{i}", cut) for i, item in enumerate(calls))


def opaque_of(items: Sequence[Item]) -> dict[str, Any]:
    """What text and calls cannot say: reasoning, phases, hosted tools, the order of items.

    Empty where some reasoning cannot go back: its neighbours then must not name it by their ids.
    """
    plain = all(item.is_plain for item in items) and all(
        item.kind == "function_call" for item in items[1:]
    )
    if plain or not all(item.may_return for item in items):
        return {}
    return {"responses": {"output": mend_tree([item.raw() for item in items])}}


def _is(part: Any, kind: str) -> bool:
    return isinstance(part, dict) and part.get("type") == kind


def _str(value: Any) -> str:
    return value if isinstance(value, str) else ""


_FINISH = {"max_output_tokens": "length"}
_DELTAS = (
    "response.output_text.delta",
    "response.refusal.delta",
    "response.function_call_arguments.delta",
    "response.reasoning_text.delta",
    "response.reasoning_summary_text.delta",
)
_LAST = ("response.completed", "response.incomplete", "response.failed")


class _Response(msgspec.Struct, frozen=True):
    model: str | None = None
    status: str | None = None
    output: list[dict[str, Any]] | None = None
    usage: Any = None
    error: Any = None
    incomplete_details: Any = None


class _Event(msgspec.Struct, frozen=True):
    type: str | None = None
    response: _Response | None = None
    output_index: int = 0
    content_index: int | None = 0
    item: dict[str, Any] | None = None
    delta: Any = None
    code: Any = None
    message: str | None = None
    error: Any = None


_EVENT = Decoder(_Event)
_WHOLE = Decoder(_Response)


class ResponsesAssembler(Assembler):
    """Events in, reply out. `made_up` begins the ids of calls that have none.

    The output of the last event supersedes what was pieced together, where it has one.
    """

    def __init__(self, made_up: str, on_text: Callable[[str], None] | None = None) -> None:
        super().__init__(made_up, on_text)
        self._items: dict[int, Item] = {}
        self._reason: str | None = None

    @property
    def complete(self) -> bool:
        """The response was completed, or cut short for a reason that was given."""
        return self.ended

    def feed(self, event: Event) -> None:
        """Take one event; raise `ModelError` for a failure, `Unreadable` for nonsense."""
        if event.data.strip() == b"[DONE]":  # not in this dialect, but some services send it
            return
        parsed = _EVENT.decode(event.data)
        kind = parsed.type or event.event
        if kind == "error" or (parsed.error and parsed.response is None):
            # an `error` event carries the error beside its type or, at times, inside
            error = parsed.error or {"code": parsed.code, "message": parsed.message}
            raise stream_error(error, self.partial() if self._begun else None)
        self._begun = True
        if kind in _LAST:
            self._finish(parsed.response or _Response())
        elif kind == "response.output_item.added":
            self._items[parsed.output_index] = Item(parsed.item or {})
        elif kind == "response.output_item.done":
            self._item(parsed.output_index, parsed.item).finish(parsed.item or {})
        elif kind in _DELTAS:
            self._grow(kind, parsed)

    def take(self, data: bytes) -> None:
        """Take one whole response."""
        response = _WHOLE.decode(data)
        if response.error is None and response.output is None:
            raise Unreadable("a response without output")
        self._finish(response)
        self._say(self.reply().text)

    def reply(self) -> ModelReply:
        """The whole reply."""
        reply = self._built()
        if any(not call.name for call in reply.calls):
            raise Unreadable("a function call without a name")
        return reply

    def partial(self) -> ModelReply:
        """What is there, for the bill: never raises."""
        return estimate_open(self._built(), sum(i.hidden_bytes for i in self._items.values()))

    def _finish(self, response: _Response) -> None:
        self._model = response.model or self._model
        self._note(response.usage)
        if response.output:
            self._items = {i: Item(item) for i, item in enumerate(response.output)}
        if response.error or response.status in ("failed", "cancelled"):
            error = response.error or {"message": response.status}
            raise stream_error(error, self.partial() if self._begun else None)
        if response.status in ("in_progress", "queued"):
            raise Unreadable(f"a response that is still {response.status}")
        self._reason = _reason(response)
        self.ended = True

    def _item(self, index: int, given: dict[str, Any] | None = None) -> Item:
        if index not in self._items:
            if given is None:
                raise Unreadable(f"a delta for output item {index}, which was never added")
            self._items[index] = Item(given)
        return self._items[index]

    def _grow(self, kind: str, event: _Event) -> None:
        if not isinstance(event.delta, str):
            raise Unreadable(f"{kind} without text")
        self._item(event.output_index).add(kind, event.content_index or 0, event.delta)
        if kind == "response.output_text.delta":
            self._say(event.delta)

    def _note(self, usage: Any) -> None:
        for key in ("input_tokens", "output_tokens"):
            self._counts.note(key, count(usage, key))
        for key in ("cached_tokens", "cache_write_tokens"):
            self._counts.note(key, count(usage, "input_tokens_details", key))
        self._counts.note("reasoning", count(usage, "output_tokens_details", "reasoning_tokens"))

    def _built(self) -> ModelReply:
        items = [self._items[index] for index in sorted(self._items)]
        refusal = mend("".join(item.refusal for item in items))
        calls = calls_of(items, self._made_up, cut=self._reason is not None)
        if self._reason is not None:
            calls = tuple(call for call in calls if call.name)
        reply = ModelReply(
            text=mend("".join(item.text for item in items)) or refusal,
            calls=calls,
            finish=self._word(refusal, bool(calls)),
            model=self._model,
            opaque=opaque_of(items),
        )
        return self._with_usage(reply)

    def _word(self, refusal: str, calls: bool) -> str | None:
        """This API has no finish reason: it follows from the status and the output."""
        if not self.ended:
            return None
        if self._reason is not None:
            return _FINISH.get(self._reason, self._reason)
        if refusal:
            return "refusal"
        return "tool_calls" if calls else "stop"

    def _with_usage(self, reply: ModelReply) -> ModelReply:
        prompt, completion = self._counts.get("input_tokens"), self._counts.get("output_tokens")
        if not prompt or completion is None:  # a prompt of 0 is a service that does not count
            return reply
        usage, notes = self._usage(prompt, completion)
        return msgspec.structs.replace(reply, usage=usage, notes=reply.notes + notes)


def _reason(response: _Response) -> str | None:
    """Why a response is incomplete; None for one that is not."""
    details = response.incomplete_details
    reason = details.get("reason") if isinstance(details, dict) else None
    if reason is not None:
        return str(reason)
    return "incomplete" if response.status == "incomplete" else None


_LIMIT = 64  # characters of an id or a name


class _Entry(msgspec.Struct, frozen=True):
    """One message as input items."""

    role: str
    items: tuple[msgspec.Raw, ...]
    text: str


@speaks("responses")
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
        call_id = short_id(message.call_id or "", _LIMIT)
        return [{"type": "function_call_output", "call_id": call_id, "output": text}]
    if message.role != "assistant":
        return [{"role": message.role, "content": text}]
    kept = message.opaque.get("responses", {}).get("output", [])
    if restored := _restored(kept, message.calls) if kept else []:
        return restored
    message_item = [{"role": "assistant", "content": text}] if text or not message.calls else []
    return message_item + [_call(call) for call in message.calls]


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
        "call_id": short_id(call.id, _LIMIT),
        "name": safe_name(call.name, _LIMIT),
        "arguments": call.arguments,
    }
