"""Responses: a finished reply as a whole response, and the items of its output.

Shapes after the API reference ("Create a model response") and the official SDK's types.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeAlias

from fakeprovider.completion import Completion, Part, Tally
from fakeprovider.conversation import Call, Conversation
from fakeprovider.protocols.base import CREATED
from fakeprovider.protocols.item_ids import call_item_id, message_id, reasoning_id
from fakeprovider.protocols.response_ids import response_id
from fakeprovider.replies import Finish, Refusal, Text, Thinking, WebSearch
from fakeprovider.signatures import sign

Words: TypeAlias = Text | Refusal

_INCOMPLETE: dict[Finish, str] = {
    "length": "max_output_tokens",
    "context_window": "max_output_tokens",
    "content_filter": "content_filter",
}


@dataclass(frozen=True, slots=True)
class Item:
    """One output item: its id, what it is made of, and whether it was cut short."""

    id: str
    parts: tuple[Part, ...]
    cut: bool

    @property
    def status(self) -> str:
        """How it ended."""
        return "incomplete" if self.cut else "completed"


def items(conversation: Conversation, completion: Completion) -> list[Item]:
    """The output items, in order: neighbouring words are one message, each call is an item."""
    groups: list[tuple[Part, ...]] = []
    for wordy, found in groupby(completion.parts, lambda part: isinstance(part, Text | Refusal)):
        parts = tuple(found)
        groups += [parts] if wordy else [(part,) for part in parts]
    last = len(groups) - 1
    return [
        Item(
            _item_id(conversation, completion.position, index, parts),
            parts,
            index == last and completion.finish in _INCOMPLETE,
        )
        for index, parts in enumerate(groups)
    ]


def _item_id(conversation: Conversation, turn: int, index: int, parts: tuple[Part, ...]) -> str:
    first = parts[0]
    stored = conversation.options["store"]
    if isinstance(first, Thinking):
        return reasoning_id(turn, index)
    if isinstance(first, WebSearch):
        return f"ws_fake{turn}i{index}"
    if isinstance(first, Call):
        return call_item_id(turn, index, first) if stored else f"fc_fake{turn}i{index}"
    text = "".join(part.text for part in parts if isinstance(part, Text))
    return message_id(turn, index, text) if stored else f"msg_fake{turn}i{index}"


def item(conversation: Conversation, one: Item, *, begun: bool = False) -> dict[str, Any]:
    """An output item; `begun` is how it looks before anything of it was said."""
    first = one.parts[0]
    status = "in_progress" if begun else one.status
    if isinstance(first, Thinking):
        return _reasoning(conversation, one, first, begun)
    if isinstance(first, Call):
        return {
            "id": one.id,
            "type": "function_call",
            "status": status,
            "arguments": "" if begun else first.arguments,
            "call_id": first.id,
            "name": first.name,
        }
    if isinstance(first, WebSearch):
        action = {"type": "search", "query": first.query}
        return {"id": one.id, "type": "web_search_call", "status": status, "action": action}
    content = [] if begun else [content_part(part) for part in words(one)]
    return {
        "id": one.id,
        "type": "message",
        "status": status,
        "content": content,
        "role": "assistant",
    }


def words(one: Item) -> list[Words]:
    """The content of a message item."""
    return [part for part in one.parts if isinstance(part, Text | Refusal)]


def content_part(part: Words, *, begun: bool = False) -> dict[str, Any]:
    """A part of a message; `begun` is how it looks before anything of it was said."""
    text = "" if begun else part.text
    if isinstance(part, Refusal):
        return {"type": "refusal", "refusal": text}
    return {"type": "output_text", "annotations": [], "logprobs": [], "text": text}


def _reasoning(
    conversation: Conversation, one: Item, thinking: Thinking, begun: bool
) -> dict[str, Any]:
    form: dict[str, Any] = {
        "id": one.id,
        "type": "reasoning",
        "summary": [] if begun else [{"type": "summary_text", "text": thinking.text}],
    }
    if conversation.options["encrypted_reasoning"]:
        form["encrypted_content"] = "" if begun else thinking.signature or sign(thinking.text)
    return form


def response(
    conversation: Conversation, completion: Completion, output: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """The whole response."""
    reason = _INCOMPLETE.get(completion.finish)
    return {
        **_frame(conversation, completion, "incomplete" if reason else "completed"),
        "completed_at": None if reason else CREATED,
        "incomplete_details": {"reason": reason} if reason else None,
        "output": output,
        "usage": _usage(completion.usage),
    }


def begun(conversation: Conversation, completion: Completion) -> dict[str, Any]:
    """The response as the first events show it."""
    return {
        **_frame(conversation, completion, "in_progress"),
        "completed_at": None,
        "incomplete_details": None,
        "output": [],
        "usage": None,
    }


def _frame(conversation: Conversation, completion: Completion, status: str) -> dict[str, Any]:
    return {
        "id": response_id(conversation, completion),
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "background": False,
        "error": None,
        "model": completion.model,
        **conversation.options["echo"],
    }


def _usage(tally: Tally) -> dict[str, Any]:
    """Cached tokens stand inside `input_tokens`."""
    return {
        "input_tokens": tally.prompt,
        "input_tokens_details": {
            "cached_tokens": tally.cached,
            "cache_write_tokens": tally.written,
        },
        "output_tokens": tally.completion,
        "output_tokens_details": {"reasoning_tokens": tally.reasoning},
        "total_tokens": tally.total,
    }
