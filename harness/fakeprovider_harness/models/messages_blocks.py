"""Content blocks of an Anthropic message, as they grow and as they go back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from fakeprovider_harness.models.base import Call
from fakeprovider_harness.models.wire import mend, mend_arguments, mend_tree

_DIRECT = {"type": "direct"}
"""The `caller` of a call that the model made itself, as nearly all are."""


class Block:
    """One content block: what it started as, and what deltas added.

    Tool input is joined and parsed once, at the end. An input in the start counts only where no
    delta brings one: that is how whole messages and some gateways send it.
    """

    def __init__(self, start: dict[str, Any]) -> None:
        self._start = start
        self._text = [_str(start.get("text"))]
        self._thinking = [_str(start.get("thinking"))]
        self._json: list[str] = []
        self._signature = _str(start.get("signature"))
        self._citations = list(start.get("citations") or ())

    @property
    def kind(self) -> str:
        """The block's type, such as `text`, `tool_use`, `thinking`."""
        return _str(self._start.get("type"))

    @property
    def text(self) -> str:
        """The text so far; empty for other kinds."""
        return "".join(self._text) if self.kind == "text" else ""

    @property
    def hidden_bytes(self) -> int:
        """Bytes of thinking, which are output though they are not text."""
        return len("".join(self._thinking).encode("utf-8", "surrogatepass"))

    def add(self, delta: dict[str, Any]) -> None:
        """Take one delta; a kind that is not known here adds nothing."""
        self._text.append(delta["text"] or "")
        self._json.append(delta["partial_json"] or "")
        self._thinking.append(delta["thinking"] or "")
        self._signature = delta["signature"] or self._signature
        if delta["citation"] is not None:
            self._citations.append(delta["citation"])

    def call(self, made_up: str, cut: bool) -> Call:
        """A `tool_use` block as a call."""
        arguments = mend_arguments(self._input())
        if not cut and not arguments.strip():
            arguments = "{}"
        given = mend(_str(self._start.get("id")))
        return Call(given or made_up, mend(_str(self._start.get("name"))), arguments)

    def raw(self) -> dict[str, Any]:
        """The block as it may be sent back; of a `tool_use`, only what a call does not hold."""
        block = {k: v for k, v in self._start.items() if v is not None and v != _DIRECT}
        if self.kind == "tool_use":
            return {k: v for k, v in block.items() if k not in ("id", "name", "input")}
        if self.kind == "text":
            block["text"] = self.text
        elif self.kind == "thinking":
            block |= {"thinking": "".join(self._thinking), "signature": self._signature}
        elif "input" in block:
            block["input"] = _object(self._input())
        if self._citations:
            block["citations"] = self._citations
        return block

    def _input(self) -> str:
        joined = "".join(self._json)
        given = self._start.get("input")
        if joined or not given:
            return joined
        return json.dumps(given, ensure_ascii=False, separators=(",", ":"))


def text_of(blocks: Iterable[Block]) -> str:
    """The text of all blocks."""
    return mend("".join(block.text for block in blocks))


def calls_of(blocks: Iterable[Block], made_up: str, *, cut: bool) -> tuple[Call, ...]:
    """The calls in order; missing ids become `{made_up}_{position}`."""
    uses = (block for block in blocks if block.kind == "tool_use")
    return tuple(block.call(f"{made_up}_{i}", cut) for i, block in enumerate(uses))


def opaque_of(blocks: Sequence[Block]) -> dict[str, Any]:
    """What text and calls cannot say: thinking, server tools, citations, the order of blocks."""
    raws = [block.raw() for block in blocks]
    first, *rest = raws or [{}]
    plain = set(first) <= {"type", "text"} and all(raw == {"type": "tool_use"} for raw in rest)
    return {} if plain else {"messages": {"content": mend_tree(raws)}}


def _str(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
