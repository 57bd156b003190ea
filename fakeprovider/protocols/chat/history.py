"""Chat completions: from one message on the wire to its neutral form.

Types and limits are those of the API reference for `POST /chat/completions`; unknown keys are
ignored, since clients echo their own objects back.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from fakeprovider.conversation import Call, Message, Role
from fakeprovider.errors import invalid
from fakeprovider.parsing.counting import to_json
from fakeprovider.parsing.fold import Entry
from fakeprovider.parsing.request_reader import decode
from fakeprovider.protocols.openai import argument_flaws, id_flaws, missing, name_flaws

LONGEST_ID = 40  # characters

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_PARTS = {
    "system": ("text",),
    "developer": ("text",),
    "user": ("text", "image_url", "input_audio", "file"),
    "assistant": ("text", "refusal"),
    "tool": ("text",),
    "function": ("text",),
}

Flaw: TypeAlias = tuple[str, str]


class Part(msgspec.Struct):
    """One part of a content list."""

    type: str
    text: str | None = None
    refusal: str | None = None


class Function(msgspec.Struct):
    """What a call asks for; arguments given as an object are taken as its compact JSON."""

    name: str
    arguments: str | dict[str, Any] | None = None


class WireCall(msgspec.Struct):
    """One of an assistant message's tool calls."""

    id: str
    function: Function


class WireMessage(msgspec.Struct):
    """One message of a request."""

    role: str
    content: str | list[Part] | None = None
    tool_calls: list[WireCall] | None = None
    tool_call_id: str | None = None
    function_call: Function | None = None
    name: str | None = None
    refusal: str | None = None
    audio: dict[str, Any] | None = None


_DECODER = msgspec.json.Decoder(WireMessage)


def parse_message(index: int, raw: bytes) -> tuple[Entry, ...]:
    """The neutral form of the message at `index`; raises `ApiError` naming it."""
    where = f"messages[{index}]"
    wire = decode(raw, _DECODER, where)
    if wire.role not in _ROLES:
        raise invalid(
            f"Invalid value: '{wire.role}'. '{where}.role' is one of {', '.join(_ROLES)}.",
            f"{where}.role",
            "invalid_value",
        )
    text, images = _content(wire, where)
    if wire.role == "assistant":
        return (_assistant(wire, text),)
    if wire.role == "tool":
        return (_result(wire, text, where),)
    if wire.role == "function":
        return (_function_result(wire, text, where),)
    role: Role = "user" if wire.role == "user" else "system"
    return (Entry(Message(role, text, images=images), None),)


def _content(wire: WireMessage, where: str) -> tuple[str, int]:
    """The text, and the number of images and files."""
    content = wire.content
    if isinstance(content, str):
        return content, 0
    if content is None:
        if wire.role != "assistant":
            raise invalid(
                f"Invalid value for '{where}.content': expected a string or a list of parts, "
                "got null.",
                f"{where}.content",
                "invalid_type",
            )
        return "", 0
    if not content and wire.role == "tool":
        raise invalid(
            f"Invalid '{where}.content': an empty list; a tool message needs text.",
            f"{where}.content",
            "empty_array",
        )
    for position, part in enumerate(content):
        _check_part(part, wire.role, f"{where}.content[{position}]")
    words = [part.text for part in content if part.type == "text" and part.text is not None]
    return "\n".join(words), sum(part.type not in ("text", "refusal") for part in content)


def _check_part(part: Part, role: str, where: str) -> None:
    """Raise `ApiError` for a part that the role may not have."""
    if part.type not in _PARTS[role]:
        raise invalid(
            f"Invalid value: '{part.type}'. '{where}.type' in a {role} message is one of "
            f"{', '.join(_PARTS[role])}.",
            f"{where}.type",
            "invalid_value",
        )
    if part.type == "text" and part.text is None:
        raise missing(f"{where}.text")


def _assistant(wire: WireMessage, text: str) -> Entry:
    calls = tuple(map(_call, wire.tool_calls or ()))
    if wire.function_call is not None and not calls:
        named = wire.function_call
        calls = (_call(WireCall(_function_id(named.name), named)),)
    flaws: list[Flaw] = []
    for call in calls:
        flaws += _call_flaws(call)
    if wire.tool_calls == []:
        flaws.append(("empty_tool_calls", "'tool_calls' is an empty list; leave it out"))
    if not calls and wire.content is None and wire.refusal is None and wire.audio is None:
        flaws.append(("null_content", "'content' is null or missing and there are no tool calls"))
    return Entry(Message("assistant", text, calls), None, tuple(flaws))


def _function_id(name: str) -> str:
    """Calls had no ids in the days of `functions`: the name pairs a call with its result."""
    return f"function_{name}"[:LONGEST_ID]


def _function_result(wire: WireMessage, text: str, where: str) -> Entry:
    """A result in the old form, which names the function."""
    if wire.name is None:
        raise missing(f"{where}.name")
    return Entry(Message("tool", text, call_id=_function_id(wire.name)), None)


def _call(wire: WireCall) -> Call:
    arguments = wire.function.arguments
    if not isinstance(arguments, str):
        arguments = "" if arguments is None else to_json(arguments)
    return Call(wire.id, wire.function.name, arguments)


def _call_flaws(call: Call) -> list[Flaw]:
    """What is wrong with a call, in the order in which the services complain."""
    return [
        *id_flaws(call.id, LONGEST_ID),
        *name_flaws(call.name),
        *argument_flaws(call.id, call.arguments),
    ]


def _result(wire: WireMessage, text: str, where: str) -> Entry:
    if wire.tool_call_id is None:
        raise missing(f"{where}.tool_call_id")
    message = Message("tool", text, call_id=wire.tool_call_id)
    return Entry(message, None, tuple(id_flaws(wire.tool_call_id, LONGEST_ID)))
