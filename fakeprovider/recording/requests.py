"""Requests as they are written down and compared: one form for the recorder and for the matcher.

Call ids are left out: a client may make its own. What differs on each run can be declared
volatile, and is then left out of the comparison on both sides.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from fakeprovider.conversation import Call, Conversation, Message, Offered
from fakeprovider.recording.patterns import Pattern
from fakeprovider.replies import arguments_object

Request: TypeAlias = dict[str, Any]
"""`{"model", "tools", "messages"}`, plain JSON."""

FIELDS = ("model", "tools", "system")
_MASK = "*"
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Volatile:
    """What is not compared.

    patterns: text that matches, anywhere. fields: the model, the tools, system messages.
    results: results of these tools. arguments: arguments of these names, of any call.
    """

    patterns: tuple[Pattern, ...] = ()
    fields: frozenset[str] = frozenset()
    results: frozenset[str] = frozenset()
    arguments: frozenset[str] = frozenset()

    @classmethod
    def of(cls, written: Sequence[Any]) -> Volatile:
        """From the entries of a script's `volatile`."""
        named = [entry for entry in written if isinstance(entry, Mapping)]
        return cls(
            tuple(Pattern(entry) for entry in written if isinstance(entry, str)),
            frozenset(entry["field"] for entry in named if "field" in entry),
            frozenset(entry["result_of"] for entry in named if "result_of" in entry),
            frozenset(entry["argument"] for entry in named if "argument" in entry),
        )

    def mask(self, request: Request) -> Request:
        """The request as it is compared. Raises `SlowPattern`."""
        return {
            "model": _MASK if "model" in self.fields else request["model"],
            "tools": _MASK if "tools" in self.fields else self._tools(request["tools"]),
            "messages": [self._message(message) for message in request["messages"]],
        }

    def _tools(self, tools: Any) -> list[Any]:
        return sorted(self._text(tools), key=lambda tool: str(tool["name"]))

    def _message(self, message: Mapping[str, Any]) -> dict[str, Any]:
        if "system" in message and "system" in self.fields:
            return {"system": _MASK}
        masked = {key: self._text(value) for key, value in message.items()}
        if message.get("tool") in self.results:
            masked["text"] = _MASK
        masked["calls"] = [self._call(call) for call in masked.get("calls", [])]
        return masked

    def _call(self, call: Mapping[str, Any]) -> dict[str, Any]:
        arguments = call["arguments"]
        if isinstance(arguments, Mapping):
            arguments = {
                name: _MASK if name in self.arguments else value
                for name, value in arguments.items()
            }
        return {"tool": call["tool"], "arguments": arguments}

    def _text(self, value: Any) -> Any:
        """The value with volatile patterns masked in its texts."""
        if isinstance(value, str):
            for pattern in self.patterns:
                value = pattern.replace(value, _MASK)
            return value
        if isinstance(value, Mapping):
            return {key: self._text(inner) for key, inner in value.items()}
        return [self._text(inner) for inner in value] if isinstance(value, list) else value


def request_of(conversation: Conversation) -> Request:
    """The request of a conversation, before anything is masked."""
    return {
        "model": conversation.model,
        "tools": [_tool(tool) for tool in conversation.tools],
        "messages": [_message(message) for message in conversation.messages],
    }


def _tool(tool: Offered) -> dict[str, Any]:
    fields: dict[str, Any] = {"name": tool.name}
    if tool.description is not None:
        fields["description"] = tool.description
    if tool.parameters is not None:
        fields["parameters"] = dict(tool.parameters)
    return fields


def _message(message: Message) -> dict[str, Any]:
    if message.role == "tool":
        marked = {"error": True} if message.is_error else {}
        return {"tool": message.tool, "text": message.text, **marked}
    fields: dict[str, Any] = {message.role: message.text}
    if message.calls:
        fields["calls"] = [call_of(call) for call in message.calls]
    if message.images:
        fields["images"] = message.images
    return fields


def call_of(call: Call) -> dict[str, Any]:
    """A call with its arguments as JSON, or as the text they are if that is no object."""
    arguments = arguments_object(call.arguments)
    return {"tool": call.name, "arguments": call.arguments if arguments is None else arguments}


def key_of(masked: Request) -> str:
    """Equal for requests that count as the same, and only for those."""
    return json.dumps(masked, sort_keys=True)


def shared(first: Request, second: Request) -> int:
    """How many messages two requests begin with in common."""
    pairs = zip(first["messages"], second["messages"], strict=False)
    return next(
        (i for i, (a, b) in enumerate(pairs) if a != b), min(_length(first), _length(second))
    )


def difference(recorded: Request, sent: Request) -> str:
    """The first thing in which a request differs from a recorded one: where, and how."""
    place = shared(recorded, sent)
    if place < min(_length(recorded), _length(sent)):
        return f"message {place} differs: {_contrast(_nth(recorded, place), _nth(sent, place))}"
    if place < _length(recorded):
        return f"message {place} is missing: recorded was {_shown(_nth(recorded, place))}"
    if place < _length(sent):
        return f"message {place} is one too many: {_shown(_nth(sent, place))}"
    for field in ("model", "tools"):
        if recorded[field] != sent[field]:
            what = {"model": "the model differs", "tools": "the tools differ"}[field]
            return f"{what}: {_contrast(recorded[field], sent[field])}"
    return "nothing"


def _length(request: Request) -> int:
    return len(request["messages"])


def _nth(request: Request, place: int) -> Any:
    """A message without its empty fields."""
    return {key: value for key, value in request["messages"][place].items() if value != []}


def _contrast(recorded: Any, sent: Any) -> str:
    """Both, from a little before the place where they part."""
    first, second = json.dumps(recorded, ensure_ascii=False), json.dumps(sent, ensure_ascii=False)
    parted = next(_parted(first, second))
    start = max(0, parted - _SHOWN // 2)
    return f"recorded {_cut(first, start)}, sent {_cut(second, start)}"


def _parted(first: str, second: str) -> Iterator[int]:
    """Where two texts differ first."""
    yield from (i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b)
    yield min(len(first), len(second))


def _cut(text: str, start: int) -> str:
    """A part of the text from `start` on, with dots where more stands."""
    end = start + _SHOWN
    return f"{'...' if start else ''}{text[start:end]}{'...' if end < len(text) else ''}"


def _shown(value: Any) -> str:
    return _cut(json.dumps(value, ensure_ascii=False), 0)


REMOVED = "[secret]"
"""What stands in a secret's place."""

_SHAPES = re.compile(
    r"""
    \b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}              # model services, payment services
    | \bsk-ant-[A-Za-z0-9_-]{16,}
    | \bgh[pousr]_[A-Za-z0-9]{20,} | \bgithub_pat_[A-Za-z0-9_]{20,}
    | \bglpat-[A-Za-z0-9_-]{16,}
    | \bxox[abeoprs]-[A-Za-z0-9-]{10,}
    | \b(?:AKIA|ASIA)[A-Z0-9]{16}\b
    | \bAIza[A-Za-z0-9_-]{30,}
    | \bhf_[A-Za-z0-9]{20,} | \bnpm_[A-Za-z0-9]{30,}
    | \beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}   # JSON web tokens
    | (?<=[Bb]earer\s)[A-Za-z0-9._~+/-]{16,}=*
    | -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----.*?-----END\ [A-Z ]*PRIVATE\ KEY-----
    """,
    re.VERBOSE | re.DOTALL,
)


def without_secrets(value: Any, known: Iterable[str] = ()) -> Any:
    """The JSON value with secrets replaced in its texts: `known` ones, and what looks like one."""
    if isinstance(value, str):
        for secret in known:
            value = value.replace(secret, REMOVED) if secret else value
        return _SHAPES.sub(REMOVED, value)
    if isinstance(value, dict):
        return {key: without_secrets(inner, known) for key, inner in value.items()}
    if isinstance(value, list):
        return [without_secrets(inner, known) for inner in value]
    return value
