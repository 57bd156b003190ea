"""The `openai` rule: prompt tokens as OpenAI's own example counts them, for figures near a bill.

Source: OpenAI cookbook, "How to count tokens with tiktoken", for gpt-4o: three tokens around each
message and three to prime the reply; a tool is its name, description and properties with a fixed
number of tokens around each. Checked against the figure that the cookbook printed beside the live
service's: 101 for its example with a tool. Not published and so not checked: tool calls and
results in the history (their name and arguments are counted, plus three tokens a call), nested
properties (only the first level counts), images (as in the `wire` rule).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from fakeprovider.continued import Continued
from fakeprovider.conversation import Conversation, Message, Offered
from fakeprovider.counting import IMAGE_TOKENS
from fakeprovider.errors import invalid
from fakeprovider.tokens import count

_MESSAGE = 3
_PRIMING = 3
_CALL = 3
_TOOL, _TOOLS_END = 7, 12
_PROPERTIES, _PROPERTY = 3, 3
_ENUM, _ENUM_ITEM = -3, 3


def prompt_tokens(conversation: Conversation) -> int:
    """Tokens of a prompt. Raises `ApiError` where the request does not hold the whole history."""
    if isinstance(conversation, Continued):
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
    return _TOOL + head + _PROPERTIES + sum(_property(*one) for one in properties.items())


def _property(name: str, schema: Any) -> int:
    schema = schema if isinstance(schema, Mapping) else {}
    values = schema.get("enum")
    spent = _PROPERTY + count(f"{name}:{schema.get('type', '')}:{_bare(schema.get('description'))}")
    if isinstance(values, list):
        spent += _ENUM + sum(_ENUM_ITEM + count(str(value)) for value in values)
    return spent


def _bare(description: object) -> str:
    return description.removesuffix(".") if isinstance(description, str) else ""
