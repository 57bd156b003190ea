"""The `wire` rule: what a request and a reply cost in tokens.

prompt = n(json(messages)) + n(json(tools)), each counted as one string in the neutral canonical
form, so that a client's dialect, spacing, key order, nulls and extra keys do not matter.
completion = n(text) + n(json(tool calls or [])).

A message is counted once and for all: a token never spans the point just before the first
character of its first key, `role`, because the punctuation before it is always consumed whole.
So the one string is cut there: `[{"`, then `role...},{"` per message, `role...}]` for the last.

Source: OpenAI cookbook, "How to count tokens with tiktoken", for gpt-4o: three tokens around each
message and three to prime the reply; a tool is its name, description and properties with a fixed
number of tokens around each. Checked against the figure that the cookbook printed beside the live
service's: 101 for its example with a tool. Not published and so not checked: tool calls and
results in the history (their name and arguments are counted, plus three tokens a call), nested
properties (only the first level counts), images (as in the `wire` rule).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import starmap
from typing import Any

from fakeprovider.conversation import Call, ContinuedConversation, Conversation, Message, Offered
from fakeprovider.errors import invalid
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
        form["tool_calls"] = list(map(_canonical_call, message.calls))
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


_MESSAGE = 3
_PRIMING = 3
_CALL = 3
_TOOL, _TOOLS_END = 7, 12
_PROPERTIES, _PROPERTY = 3, 3
_ENUM, _ENUM_ITEM = -3, 3


def prompt_tokens(conversation: Conversation) -> int:
    """Tokens of a prompt. Raises `ApiError` where the request does not hold the whole history."""
    if isinstance(conversation, ContinuedConversation):
        raise invalid(
            "The counting rule 'openai' needs the whole history, which 'previous_response_id' "
            "leaves out. Count by the rule 'wire', or send the history.",
            "previous_response_id",
        )
    tools: tuple[Offered, ...] = conversation.options["offered"]
    return _PRIMING + sum(map(_message, conversation.messages)) + _tools(tools)


@lru_cache(maxsize=4096)
def _message(message: Message) -> int:
    calls = sum(_CALL + count(call.name) + count(call.arguments) for call in message.calls)
    words = count(message.role) + count(message.text)
    return _MESSAGE + words + calls + message.images * IMAGE_TOKENS


def _tools(tools: tuple[Offered, ...]) -> int:
    return sum(map(_tool, tools)) + _TOOLS_END if tools else 0


def _tool(tool: Offered) -> int:
    head = count(f"{tool.name}:{_bare(tool.description)}")
    properties = (tool.parameters or {}).get("properties")
    if not isinstance(properties, Mapping) or not properties:
        return _TOOL + head
    return _TOOL + head + _PROPERTIES + sum(starmap(_property, properties.items()))


def _property(name: str, schema: Any) -> int:
    schema = schema if isinstance(schema, Mapping) else {}
    values = schema.get("enum")
    spent = _PROPERTY + count(f"{name}:{schema.get('type', '')}:{_bare(schema.get('description'))}")
    if isinstance(values, list):
        spent += _ENUM + sum(_ENUM_ITEM + count(str(value)) for value in values)
    return spent


def _bare(description: object) -> str:
    return description.removesuffix(".") if isinstance(description, str) else ""
