"""What a case says: from what stands in the file to a reply."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from fakeprovider.conversation import Conversation
from fakeprovider.replies import (
    Block,
    Fault,
    Pace,
    Refusal,
    Reply,
    Text,
    Thinking,
    ToolCall,
    Usage,
    call,
)
from fakeprovider.yamlscripts.templates import parse
from fakeprovider.yamlscripts.values import Rendering, Templated, is_plain, templated

_Block: TypeAlias = tuple[Templated, Callable[[Rendering], Block]]


@dataclass(frozen=True, slots=True)
class Speech:
    """A reply for each conversation; `same` if it is the same in all."""

    sample: Reply
    blocks: tuple[_Block, ...]

    @property
    def same(self) -> bool:
        """Whether no template stands in it."""
        return all(is_plain(source) for source, _ in self.blocks)

    def reply(self, conversation: Conversation) -> Reply:
        """The reply in this conversation; raises `templates.Missing`."""
        rendering = Rendering(conversation)
        return replace(self.sample, blocks=tuple(make(rendering) for _, make in self.blocks))


def speech(written: Mapping[str, Any], pace: Pace | None = None) -> Speech:
    """What a turn or a case says; `pace` is the script's own.

    Raises `ImpossibleReply` for what no service sends (unless it names a fault).
    """
    blocks = tuple(_blocks(written))
    sample = Reply(
        tuple(make(Rendering()) for _, make in blocks),
        finish=written.get("finish"),
        usage=Usage(**written["usage"]) if "usage" in written else None,
        fault=fault(written["fault"]) if "fault" in written else None,
        pace=Pace(**written["pace"]) if "pace" in written else pace,
    )
    return Speech(sample, blocks)


def fault(written: str | Mapping[str, Any]) -> Fault:
    """A fault by its name, or by a mapping of its name and parameters."""
    if isinstance(written, str):
        return Fault(written)
    return Fault(written["name"], {key: one for key, one in written.items() if key != "name"})


def _blocks(written: Mapping[str, Any]) -> Iterator[_Block]:
    for key, kind in (("think", Thinking), ("refuse", Refusal), ("say", Text)):
        if key in written:
            yield _words(kind, written[key])
    asked = written.get("ask", [])
    for one in asked if isinstance(asked, list) else [asked]:
        yield _call({"tool": one} if isinstance(one, str) else one)
    if "then_say" in written:
        yield _words(Text, written["then_say"])


def _words(kind: Callable[[str], Block], written: str) -> _Block:
    template = parse(written)
    return template, lambda rendering: kind(rendering.text(template))


def _call(written: Mapping[str, Any]) -> _Block:
    source = written.get("arguments", {})
    arguments = templated(source)
    sent_as_it_is = isinstance(source, str)

    def make(rendering: Rendering) -> ToolCall:
        filled = rendering.text(arguments) if sent_as_it_is else rendering.value(arguments)
        return replace(call(written["tool"], filled), id=written.get("id"))

    return arguments, make
