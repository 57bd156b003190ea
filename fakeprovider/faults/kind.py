"""What a fault is: a name, where it comes from, its parameters, and the functions that apply it.

Each function is pure: from an error's scene to an answer, from a reply to a completion, from bytes
to bytes, from frames to frames, from steps to steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from fakeprovider.completion import Completion, complete
from fakeprovider.conversation import Conversation
from fakeprovider.delivery.steps import Headers, Step
from fakeprovider.protocols.dialect import DIALECTS, Dialect, Frame, Shape
from fakeprovider.replies import Block, Fault, Finish, Reply

Group: TypeAlias = Literal[
    "status", "connection", "stream", "framing", "calls", "usage", "content", "counting"
]
Form: TypeAlias = Literal["whole", "stream"]
Need: TypeAlias = Literal["a call", "two calls", "a cap on output"]
Values: TypeAlias = Mapping[str, Any]

CHOICES: frozenset[Shape] = frozenset({"choices"})
BLOCKS: frozenset[Shape] = frozenset({"blocks"})
ITEMS: frozenset[Shape] = frozenset({"items"})
BOTH: frozenset[Form] = frozenset({"whole", "stream"})
STREAM: frozenset[Form] = frozenset({"stream"})


class BadFault(ValueError):
    """A fault that does not exist, or a parameter of one; says what there is."""


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter: its default (whose type it has), what it means, and what it may be.

    A text may be one of `choices`, if there are any; a number is from `least` to `most`.
    """

    name: str
    default: str | int | float
    line: str
    choices: tuple[str, ...] = ()
    least: float = 0
    most: float = 1_000_000_000

    def read(self, value: Any) -> str | int | float:
        """The value, given as it is or in words; raises `BadFault`."""
        converted = self._converted(value)
        if self.choices and converted not in self.choices:
            raise BadFault(f"{self.name}={value!r}: must be one of {', '.join(self.choices)}")
        if not isinstance(converted, str) and not self.least <= converted <= self.most:
            raise BadFault(f"{self.name}={value!r}: must be {self.least:g} to {self.most:,}")
        return converted

    def _converted(self, value: Any) -> str | int | float:
        """The value as the default's type; raises `BadFault`."""
        kind = type(self.default)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise BadFault(f"{self.name}={value!r}: must be {_KINDS[kind]}")
        try:
            return kind(value)
        except (ValueError, OverflowError):
            raise BadFault(f"{self.name}={value!r}: must be {_KINDS[kind]}") from None


_KINDS = {int: "a whole number", float: "a number", str: "a text"}


@dataclass(frozen=True, slots=True)
class Answer:
    """What is sent in place of a reply; `message` and `retry_after` (seconds) are the journal's."""

    status: int
    body: bytes
    message: str
    headers: Headers = ()
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Scene:
    """What a fault may look at. `body` is the request's; `now` is Unix time, for a date ahead."""

    dialect: Dialect
    conversation: Conversation
    completion: Completion
    values: Values
    body: bytes = b""
    request_id: str = ""
    now: float = 0.0


_ANY_REPLY = Fault("content")  # excuses a reply that no service can send


@dataclass(frozen=True, slots=True)
class Draft:
    """A script's reply to a conversation, not yet completed."""

    dialect: Dialect
    conversation: Conversation
    reply: Reply
    script: str
    values: Values

    def completed(self) -> Completion:
        """The reply as the script wrote it."""
        return complete(self.conversation, self.reply, self.script)

    def with_blocks(self, *blocks: Block, finish: Finish | None = None) -> Completion:
        """Other blocks in the reply's place; the finish follows from them unless it is given."""
        reply = replace(self.reply, blocks=blocks, finish=finish, fault=_ANY_REPLY)
        return complete(self.conversation, reply, self.script)


ErrorHook: TypeAlias = Callable[[Scene], Answer | None]
ReplyHook: TypeAlias = Callable[[Draft], Completion]
WholeHook: TypeAlias = Callable[[bytes, Scene], bytes]
StreamHook: TypeAlias = Callable[[Iterable[Frame], Scene], Iterator[Frame]]
StepsHook: TypeAlias = Callable[[Iterable[Step], Scene], Iterator[Step]]
CountHook: TypeAlias = Callable[[int, Values], int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A fault by name.

    `line` says what happens, `source` where it was seen or is documented. It strikes replies of
    `dialects`, in `forms`, that have what it `needs`. `breaks` says that the client cannot have
    had the whole reply; `chaos` that it is one of those that `--chaos` draws from; `slow` that it
    keeps a client waiting; `quick` has parameters with which it waits less. The functions:
    `error` answers in place of the reply (None: this time there is nothing to answer), `reply`
    completes it, `whole`, `stream` and `steps` change how it goes out, `count` changes what
    `count_tokens` says (None: there is no such endpoint).
    """

    name: str
    group: Group
    line: str
    source: str
    params: tuple[Param, ...] = ()
    dialects: frozenset[str] = field(default_factory=lambda: frozenset(DIALECTS))
    forms: frozenset[Form] = BOTH
    needs: Need | None = None
    breaks: bool = False
    chaos: bool = False
    slow: bool = False
    quick: Values = field(default_factory=dict)
    error: ErrorHook | None = None
    reply: ReplyHook | None = None
    whole: WholeHook | None = None
    stream: StreamHook | None = None
    steps: StepsHook | None = None
    count: CountHook | None = None

    def values(self, given: Mapping[str, Any]) -> Values:
        """All parameters, those not given at their defaults; raises `BadFault`."""
        known = {param.name: param for param in self.params}
        for name in given:
            if name not in known:
                allowed = ", ".join(known) or "none"
                raise BadFault(f"fault {self.name!r} has no parameter {name!r}; it has: {allowed}")
        return {
            name: param.read(given[name]) if name in given else param.default
            for name, param in known.items()
        }

    def misses(self, dialect: str, conversation: Conversation, reply: Reply) -> str:
        """Why it cannot strike this reply; "" if it can."""
        form: Form = "stream" if conversation.stream else "whole"
        if dialect not in self.dialects:
            return f"it is not of the dialect {dialect!r}"
        if form not in self.forms:
            return "the reply is not streamed"
        if not _has(self.needs, conversation, reply):
            return f"it needs {self.needs}"
        return ""


def _has(need: Need | None, conversation: Conversation, reply: Reply) -> bool:
    """Whether a reply has what a fault needs."""
    if need == "a call":
        return len(reply.calls) >= 1
    if need == "two calls":
        return len(reply.calls) >= 2
    return need is None or conversation.max_output is not None
