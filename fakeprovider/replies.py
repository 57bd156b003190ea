"""What a script answers, in no provider's dialect: blocks, and what is said about them.

A reply is data. Dialects render it, `completion.complete` fills in what it leaves open.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

Finish: TypeAlias = Literal[
    "stop",
    "tool_calls",
    "length",
    "content_filter",
    "refusal",
    "stop_sequence",
    "pause",
    "context_window",
]
"""Why a reply ended, in neutral words; each dialect has its own for them."""

_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_CALL_ID = re.compile(r"[a-zA-Z0-9_-]{1,40}")
_to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_NEVER_WITH_CALLS = frozenset({"stop", "stop_sequence", "pause"})
_LONGEST = 86_400  # seconds; a day
_FASTEST = 1_000_000  # tokens per second; faster is at once


class ImpossibleReply(ValueError):
    """A reply that no real service can send and that names no fault to excuse it."""


@dataclass(frozen=True, slots=True)
class Text:
    """Words for the user."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A request to run a tool.

    `arguments` is the string as it goes over the wire, JSON or (as real models do) not.
    `id` None becomes `fake{turn}` for the first call of a reply, `fake{turn}p{k}` for the k-th
    further one.
    """

    name: str
    arguments: str = "{}"
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Thinking:
    """Reasoning shown beside the answer, in dialects that have a place for it."""

    text: str
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """The model declines, in the place that the dialect keeps for that."""

    text: str


@dataclass(frozen=True, slots=True)
class WebSearch:
    """A search that the service runs itself, within the turn: its query and the page it found.

    The Messages dialect pauses the turn after so many of them (ten, unless told otherwise) and
    goes on when the content is sent back; responses show the call, chat completions nothing.
    """

    query: str
    title: str = "A page"
    url: str = "https://example.com/"


Block: TypeAlias = Text | ToolCall | Thinking | Refusal | WebSearch


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens to report in place of the counted ones; None leaves the count."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


def _read_only(params: Mapping[str, Any]) -> Mapping[str, Any]:
    return MappingProxyType(dict(params))


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that goes wrong on the wire, by name, with its parameters."""

    name: str
    params: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "params", _read_only(self.params))

    def __hash__(self) -> int:
        return hash((self.name, tuple(sorted((key, repr(v)) for key, v in self.params.items()))))


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a reply arrives: seconds to the first token, then tokens per second.

    `jitter` is the fraction by which each gap may vary, 0 to 1. After every `stall_every` tokens
    the stream stands still for `stall` seconds; 0 means never. None means at once. Raises
    `ValueError` for what no clock can do.
    """

    first_token: float = 0.0
    tokens_per_second: float | None = None
    jitter: float = 0.0
    stall: float = 0.0
    stall_every: int = 0

    def __post_init__(self) -> None:
        if not (0 <= self.first_token <= _LONGEST and 0 <= self.stall <= _LONGEST):
            raise ValueError(f"first_token and stall must be 0 to {_LONGEST:,} seconds")
        if self.tokens_per_second is not None and not 0 < self.tokens_per_second <= _FASTEST:
            raise ValueError(f"tokens_per_second must be over 0, up to {_FASTEST:,}; or None")
        if not 0 <= self.jitter <= 1:
            raise ValueError("jitter must be 0 to 1")
        if self.stall_every < 0:
            raise ValueError("stall_every must be 0 or more tokens")


@dataclass(frozen=True, slots=True)
class Reply:
    """One model turn: blocks in the order they are sent, and what is said about them.

    `finish` None is derived: `tool_calls` if there is a call, `refusal` if there is a refusal,
    else `stop`. `usage` None is counted. Raises `ImpossibleReply` for what no service can send,
    unless `fault` names what went wrong.
    """

    blocks: tuple[Block, ...] = ()
    finish: Finish | None = None
    usage: Usage | None = None
    fault: Fault | None = None
    pace: Pace | None = None

    def __post_init__(self) -> None:
        if self.fault is None:
            _refuse_impossible(self)

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls, in order."""
        return tuple(block for block in self.blocks if isinstance(block, ToolCall))

    @property
    def text(self) -> str:
        """The words for the user, joined."""
        return "".join(block.text for block in self.blocks if isinstance(block, Text))


def _refuse_impossible(reply: Reply) -> None:
    calls = reply.calls
    if reply.finish == "tool_calls" and not calls:
        raise ImpossibleReply(
            "finish 'tool_calls' needs a tool call in the reply; add one, or name a fault"
        )
    if calls and reply.finish in _NEVER_WITH_CALLS:
        raise ImpossibleReply(
            f"finish {reply.finish!r} cannot stand beside tool calls; leave finish out "
            "(it becomes 'tool_calls'), or name a fault"
        )
    for call in calls:
        if not _TOOL_NAME.fullmatch(call.name) or call.id is not None:
            _refuse_impossible_call(call)
    if len(calls) == 1:
        return
    ids = [call.id for call in calls if call.id is not None]
    if len(ids) != len(set(ids)):
        raise ImpossibleReply(f"two tool calls with one id in {ids}; or name a fault")


def _refuse_impossible_call(call: ToolCall) -> None:
    if not _TOOL_NAME.fullmatch(call.name):
        raise ImpossibleReply(
            f"tool name {call.name!r} is not 1 to 128 of a-z, A-Z, 0-9, _ and -; or name a fault"
        )
    if call.id is not None and not _CALL_ID.fullmatch(call.id):
        raise ImpossibleReply(
            f"call id {call.id!r} is not 1 to 40 of a-z, A-Z, 0-9, _ and -; or name a fault"
        )


def call(name: str, arguments: Mapping[str, Any] | str | None = None) -> ToolCall:
    """A tool call; a mapping becomes compact JSON, a string is sent as it is, None is `{}`."""
    if isinstance(arguments, str):
        return ToolCall(name, arguments)
    return ToolCall(name, _to_json(arguments) if arguments else "{}")


def arguments_object(arguments: str) -> dict[str, Any] | None:
    """The object that a call's arguments are, None if they are anything else."""
    try:
        value = json.loads(arguments)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def say(*parts: str | ToolCall) -> Reply:
    """A reply of words, and of calls where they are given, in this order.

    `say("Done.")`, `say("Let me look.", call("list_files"))`.
    """
    return Reply(tuple(Text(part) if isinstance(part, str) else part for part in parts))


def ask(name: str, arguments: Mapping[str, Any] | str | None = None, *more: ToolCall) -> Reply:
    """A reply that asks for one tool, or for several at once.

    `ask("list_files")`, `ask("read_file", {"path": "a"}, call("list_files"))`.
    """
    return Reply((call(name, arguments), *more))
