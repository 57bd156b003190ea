"""Anthropic Messages: from one message on the wire to its neutral ones.

A user message with tool results is several neutral messages: each result, then the text beside
them. Block types that are not known here are accepted and ignored, as are unknown keys: the list
grows with every release, and clients echo the service's own blocks back.
"""

from __future__ import annotations

import re
from typing import Any, TypeAlias

import msgspec

from fakeprovider.conversation import Call, Message, Role
from fakeprovider.errors import invalid
from fakeprovider.parsing.counting import to_json
from fakeprovider.parsing.fold import Entry
from fakeprovider.parsing.request_reader import decode
from fakeprovider.parsing.thinking import is_ours, sign

TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_CALL_ID = re.compile(r"[a-zA-Z0-9_-]+")
_ROLES = ("user", "assistant", "system", "developer")
_IMAGES = ("image", "document")
_THOUGHTS = ("thinking", "redacted_thinking")

_ABSENT = msgspec.Raw(b"")

Flaw: TypeAlias = tuple[str, str]


class Block(msgspec.Struct):
    """One content block, of any type: which fields it has depends on `type`."""

    type: str
    text: str | None = None
    id: str | None = None
    name: str | None = None
    input: msgspec.Raw = _ABSENT
    tool_use_id: str | None = None
    content: msgspec.Raw = msgspec.Raw(b"null")
    is_error: bool | None = None
    thinking: str | None = None
    signature: str | None = None


class WireMessage(msgspec.Struct):
    """One message of a request."""

    role: str
    content: str | list[Block] | None = None


_DECODER = msgspec.json.Decoder(WireMessage)
_CONTENT: msgspec.json.Decoder[str | list[Block] | None] = msgspec.json.Decoder(
    str | list[Block] | None
)
_ANY: msgspec.json.Decoder[Any] = msgspec.json.Decoder()


def parse_message(index: int, raw: bytes) -> tuple[Entry, ...]:
    """The neutral forms of the message at `index`; raises `ApiError` naming it."""
    where = f"messages[{index}]"
    wire = decode(raw, _DECODER, where)
    if wire.role not in _ROLES:
        raise invalid(
            f"{wire.role!r} is no role; it is one of user, assistant and system.",
            f"{where}.role",
            "invalid_value",
        )
    blocks = _blocks(wire.content)
    if wire.role == "assistant":
        return (_assistant(wire, blocks, where),)
    if wire.role == "user":
        return _user(blocks, where)
    entry = _words("system", blocks)
    return (entry._replace(flaws=(*entry.flaws, ("system_in_middle", "a system message here"))),)


def parse_system(raw: bytes) -> tuple[Entry, ...]:
    """The neutral form of the `system` field, a string or a list of blocks."""
    content = decode(raw, _CONTENT, "system")
    return () if content is None else (_words("system", _blocks(content)),)


def _blocks(content: str | list[Block] | None) -> list[Block]:
    """The content as blocks: a text is one."""
    if isinstance(content, str):
        return [Block("text", content)] if content else []
    return content or []


def _words(role: Role, blocks: list[Block], beside_results: bool = False) -> Entry:
    """The text of a message that has no calls and no results."""
    texts = [block.text for block in blocks if block.type == "text" and block.text is not None]
    images = sum(block.type in _IMAGES for block in blocks)
    message = Message(role, "\n".join(texts), beside_results=beside_results, images=images)
    return Entry(message, None, _empty_texts(blocks))


def _empty_texts(blocks: list[Block]) -> tuple[Flaw, ...]:
    empty = any(block.type == "text" and not block.text for block in blocks)
    return (("empty_text", "a text block without text"),) if empty else ()


def _user(blocks: list[Block], where: str) -> tuple[Entry, ...]:
    """Results, then what stands beside them."""
    if not blocks:
        raise invalid("a user message needs content.", where, "invalid_value")
    results = [_result(at, block, where) for at, block in enumerate(blocks) if _answers(block)]
    others = [block for block in blocks if not _answers(block)]
    if not results:
        return (_words("user", others),)
    if not _answers(blocks[0]):
        late = ("result_not_first", "its tool_result blocks stand behind other content")
        results[0] = results[0]._replace(flaws=(*results[0].flaws, late))
    beside = (_words("user", others, beside_results=True),) if others else ()
    return (*results, *beside)


def _answers(block: Block) -> bool:
    """Whether the block is the result of a call."""
    return block.type == "tool_result"


def _result(position: int, block: Block, where: str) -> Entry:
    where = f"{where}.content[{position}].tool_result"
    if block.tool_use_id is None:
        raise _missing(f"{where}.tool_use_id")
    inner = _blocks(decode(bytes(block.content), _CONTENT, f"{where}.content"))
    words = [part.text for part in inner if part.type == "text" and part.text is not None]
    message = Message(
        "tool",
        "\n".join(words),
        call_id=block.tool_use_id,
        is_error=bool(block.is_error),
        images=sum(part.type in _IMAGES for part in inner),
    )
    # Empty text inside a result is accepted: live probes in experientiallabs/experiential#804.
    return Entry(message, None, tuple(_id_flaws(block.tool_use_id)))


def _assistant(wire: WireMessage, blocks: list[Block], where: str) -> Entry:
    calls: list[Call] = []
    flaws = list(_empty_texts(blocks))
    for position, block in enumerate(blocks):
        if block.type == "tool_use":
            call, call_flaws = _call(block, f"{where}.content[{position}].tool_use")
            calls.append(call)
            flaws += call_flaws
        elif block.type == "thinking":
            flaws += _thinking_flaws(block)
    if not blocks:
        rule = "null_content" if wire.content is None else "empty_content"
        flaws.append((rule, "an assistant message without content"))
    # Joined without a newline, as chat completions has them: the dialects count alike.
    text = "".join(block.text or "" for block in blocks if block.type == "text")
    searches = sum(block.type == "server_tool_use" for block in blocks)
    thought = any(block.type in _THOUGHTS for block in blocks)
    message = Message("assistant", text, tuple(calls), searches=searches, thought=thought)
    return Entry(message, None, tuple(flaws))


def _call(block: Block, where: str) -> tuple[Call, list[Flaw]]:
    for field in ("id", "name", "input"):
        if getattr(block, field) in (None, _ABSENT):
            raise _missing(f"{where}.{field}")
    call_id, name, value = str(block.id), str(block.name), _ANY.decode(block.input)
    flaws = _id_flaws(call_id)
    if not TOOL_NAME.fullmatch(name):
        flaws.append(("tool_name", f"the tool name {name!r} is not 1 to 128 of a-zA-Z0-9_-"))
    if not isinstance(value, dict):
        flaws.append(("arguments_not_json", f"the input of call {call_id!r} is not an object"))
    return Call(call_id, name, to_json(value)), flaws


def _id_flaws(call_id: str) -> list[Flaw]:
    if _CALL_ID.fullmatch(call_id):
        return []
    return [("call_id_characters", f"the call id {call_id!r} is not of a-zA-Z0-9_-")]


def _thinking_flaws(block: Block) -> list[Flaw]:
    """A block must come back unchanged: the signature is made from the words."""
    signature = block.signature or ""
    if signature == sign(block.thinking or ""):
        return []
    if not signature or is_ours(signature):
        return [("thinking_signature", "a thinking block whose signature does not fit its words")]
    return [("foreign_signature", "a thinking block that another service signed")]


def _missing(path: str) -> Exception:
    return invalid(f"Missing required parameter: '{path}'.", path, "missing_required_parameter")
