"""Responses: from one input item on the wire to its neutral form.

Output items of one response (messages of the assistant, function calls, reasoning) follow each
other and are one turn: their entries join. Item types that are not known here are accepted and
ignored, as are unknown keys.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from fakeprovider.conversation import Call, Message, Role
from fakeprovider.errors import ApiError, invalid
from fakeprovider.parsing.counting import to_json
from fakeprovider.parsing.fold import Entry
from fakeprovider.parsing.json_body import decode
from fakeprovider.protocols.openai import argument_flaws, id_flaws, missing, name_flaws
from fakeprovider.protocols.responses.ids import read_item_id

LONGEST_ID = 64  # characters

_ROLES = ("user", "assistant", "system", "developer")
_TEXTS = ("input_text", "output_text", "text", "summary_text")
_IMAGES = ("input_image", "input_file", "input_audio")
_CALLS = ("function_call", "custom_tool_call")
_RESULTS = ("function_call_output", "custom_tool_call_output")
_ANY: msgspec.json.Decoder[Any] = msgspec.json.Decoder()

Flaw: TypeAlias = tuple[str, str]


class Content(msgspec.Struct):
    """One part of a content list."""

    type: str
    text: str | None = None


class WireItem(msgspec.Struct):
    """One input item, of any type: which fields it has depends on `type`."""

    type: str | None = None
    role: str | None = None
    content: msgspec.Raw = msgspec.Raw(b"null")
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: msgspec.Raw = msgspec.Raw(b"null")
    input: str | None = None
    output: msgspec.Raw = msgspec.Raw(b"null")


_ITEM = msgspec.json.Decoder(WireItem)
_CONTENT: msgspec.json.Decoder[str | list[Content] | None] = msgspec.json.Decoder(
    str | list[Content] | None
)


def parse_item(index: int, raw: bytes) -> tuple[Entry, ...]:
    """The neutral form of the item at `index`; raises `ApiError` naming it."""
    where = f"input[{index}]"
    item = decode(raw, _ITEM, where)
    if item.type in _CALLS:
        return (_call(item, where),)
    if item.type in _RESULTS:
        return (_result(item, where),)
    if item.type == "item_reference" or (item.type is None and item.role is None):
        return _referenced(item, where)
    if item.type in (None, "message"):
        return (_message(item, where),)
    return (_OUTPUT,) if _is_output(item.type) else ()


_OUTPUT = Entry(Message("assistant"), None, joins=True)
"""Output that says nothing by itself, such as reasoning: still a part of its turn."""


def _is_output(kind: str | None) -> bool:
    return kind == "reasoning" or str(kind).endswith("_call")


def parse_text(raw: bytes) -> tuple[Entry, ...]:
    """The neutral form of `instructions`, a string."""
    return (Entry(Message("system", _ANY.decode(raw)), None),)


def _message(item: WireItem, where: str) -> Entry:
    if item.role not in _ROLES:
        raise invalid(
            f"Invalid value: '{item.role}'. '{where}.role' is one of {', '.join(_ROLES)}.",
            f"{where}.role",
            "invalid_value",
        )
    text, images = _words(item.content, f"{where}.content", item.role == "assistant")
    if item.role == "assistant":
        return Entry(Message("assistant", text), None, joins=True)
    role: Role = "user" if item.role == "user" else "system"
    return Entry(Message(role, text, images=images), None)


def _words(raw: msgspec.Raw, where: str, of_assistant: bool = False) -> tuple[str, int]:
    """Text and number of images. The assistant's parts are joined as chat completions has them."""
    content = decode(bytes(raw), _CONTENT, where)
    if content is None or isinstance(content, str):
        return content or "", 0
    texts = [part.text for part in content if part.type in _TEXTS and part.text is not None]
    images = sum(part.type in _IMAGES for part in content)
    return ("" if of_assistant else "\n").join(texts), images


def _call(item: WireItem, where: str) -> Entry:
    if item.call_id is None or item.name is None:
        raise missing(f"{where}.{'name' if item.call_id else 'call_id'}")
    if item.type == "custom_tool_call":
        arguments, flaws = item.input or "", []
    else:
        arguments = _arguments(item.arguments, where)
        flaws = argument_flaws(item.call_id, arguments)
    flaws += [*id_flaws(item.call_id, LONGEST_ID), *name_flaws(item.name)]
    call = Call(item.call_id, item.name, arguments)
    return Entry(Message("assistant", "", (call,)), None, tuple(flaws), joins=True)


def _arguments(raw: msgspec.Raw, where: str) -> str:
    value = _ANY.decode(bytes(raw))
    if value is None:
        raise missing(f"{where}.arguments")
    return value if isinstance(value, str) else to_json(value)


def _result(item: WireItem, where: str) -> Entry:
    if item.call_id is None:
        raise missing(f"{where}.call_id")
    if bytes(item.output) == b"null":
        raise missing(f"{where}.output")
    text, images = _words(item.output, f"{where}.output")
    message = Message("tool", text, call_id=item.call_id, images=images)
    return Entry(message, None, tuple(id_flaws(item.call_id, LONGEST_ID)))


def _referenced(item: WireItem, where: str) -> tuple[Entry, ...]:
    """An item named by its id alone: nothing is stored here, but the id may carry it."""
    if item.id is None:
        raise missing(f"{where}.type")
    found = read_item_id(item.id)
    if found is None:
        raise ApiError(
            404,
            f"Item with id '{item.id}' not found. This server keeps nothing between requests: "
            "send the item itself, or set `store` to false so that the client does.",
            kind="not_found",
            param=where,
        )
    return (Entry(found, None, joins=True),)
