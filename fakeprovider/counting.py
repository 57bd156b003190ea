"""The `wire` rule: what a request and a reply cost in tokens.

prompt = n(json(messages)) + n(json(tools)), each counted as one string in the neutral canonical
form, so that a client's dialect, spacing, key order, nulls and extra keys do not matter.
completion = n(text) + n(json(tool calls or [])).

A message is counted once and for all: a token never spans the point just before the first
character of its first key, `role`, because the punctuation before it is always consumed whole.
So the one string is cut there: `[{"`, then `role...},{"` per message, `role...}]` for the last.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from typing import Any

from fakeprovider.conversation import Call, Message, Offered
from fakeprovider.tokens import count

IMAGE_TOKENS = 85
"""What one image part adds: OpenAI's published price of a low-detail image for gpt-4o."""

to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""Compact JSON as the rule has it."""


@cache
def opening() -> int:
    """Tokens before the first message's first key."""
    return count('[{"')


def inner_count(message: Message) -> int:
    """Tokens of a message that another follows, images included."""
    return count(to_json(canonical(message))[2:] + ',{"') + message.images * IMAGE_TOKENS


def last_count(message: Message, inner: int | None = None) -> int:
    """Tokens of a message that none follows, images included; `inner`, if known, saves work.

    The two counts differ only in the run of punctuation at the end. Behind an ASCII letter or
    digit, and perhaps a space, such a run is a piece of its own: no token reaches into it.
    """
    segment = to_json(canonical(message))[2:]
    ending = _ENDING.search(segment)
    if inner is None or ending is None:
        return count(segment + "]") + message.images * IMAGE_TOKENS
    return inner - _ending_count(ending[1] + ',{"') + _ending_count(ending[1] + "]")


_ENDING = re.compile(r"[0-9A-Za-z]( ?[!-/:-@\[-`{-~]{1,60})\Z")
_ending_count = lru_cache(maxsize=256)(count)


def tools_count(tools: Sequence[Offered]) -> int:
    """Tokens of the tools offered; none counts 0."""
    return count(to_json([_canonical_tool(tool) for tool in tools])) if tools else 0


def calls_json(calls: Iterable[Call]) -> str:
    """Tool calls as they are counted, and as chat completions sends them."""
    return to_json([_canonical_call(call) for call in calls])


def completion_count(text: str, calls: Sequence[Call]) -> int:
    """Tokens of a reply: its text and its calls."""
    return count(text) + count(calls_json(calls))


def canonical(message: Message) -> dict[str, Any]:
    """The neutral form of a message: what is counted, as data."""
    if message.role == "tool":
        return {
            "role": "tool",
            "tool_call_id": message.call_id,
            "name": message.tool,
            "content": message.text,
        }
    if message.role != "assistant":
        return {"role": message.role, "content": message.text}
    form: dict[str, Any] = {"role": "assistant", "content": message.text or None}
    if message.calls:
        form["tool_calls"] = [_canonical_call(call) for call in message.calls]
    return form


def _canonical_call(call: Call) -> dict[str, Any]:
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
    }


def _canonical_tool(tool: Offered) -> dict[str, Any]:
    function: dict[str, Any] = {"name": tool.name}
    if tool.description is not None:
        function["description"] = tool.description
    if tool.parameters is not None:
        function["parameters"] = tool.parameters
    return {"type": "function", "function": function}
