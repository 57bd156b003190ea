"""Output items of a response, as they grow and as they go back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fakeprovider_harness.models.base import Call
from fakeprovider_harness.models.surrogates import mend, mend_arguments, mend_tree

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


def text_of(items: Iterable[Item]) -> str:
    """The text of all messages."""
    return mend("".join(item.text for item in items))


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
