"""What a case says: from what stands in the file to a reply."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from fakeprovider.conversation import Conversation
from fakeprovider.pacing import PROFILES
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
from fakeprovider.yamlscripts.nodes import Node, Problems
from fakeprovider.yamlscripts.templates import Template, parse

Templated: TypeAlias = Any
"""A JSON value with a `Template` in place of every text."""

SAMPLE = "x"
"""What stands for a template's value while there is no conversation."""


@dataclass(frozen=True, slots=True)
class Rendering:
    """Gives templates their values: in a conversation, or (None) samples to try a reply with."""

    conversation: Conversation | None = None

    def text(self, template: Template) -> str:
        """A template's text; raises `templates.Missing`."""
        if self.conversation is None:
            return "".join(p if isinstance(p, str) else SAMPLE for p in template.parts)
        return template.text(self.conversation)

    def value(self, templated: Templated) -> Any:
        """A JSON value; a text that is one template and no more keeps its value's type."""
        if isinstance(templated, Template):
            if self.conversation is None:
                return self.text(templated)
            return templated.value(self.conversation)
        return _mapped(templated, self.value)


def templated(written: Any, more: Sequence[str] = ()) -> Templated:
    """The templates of a value as it stands in the file."""
    if isinstance(written, str):
        return parse(written, more)
    return _mapped(written, lambda inner: templated(inner, more))


def plain(written: Any) -> Templated:
    """The value with its texts as they are, braces and all."""
    if isinstance(written, str):
        return Template((written,))
    return _mapped(written, plain)


def is_plain(value: Templated) -> bool:
    """Whether the value is the same in every conversation."""
    if isinstance(value, Template):
        return value.is_plain
    if isinstance(value, dict):
        return all(map(is_plain, value.values()))
    return all(map(is_plain, value)) if isinstance(value, list) else True


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """The value with `change` applied to what is directly inside it."""
    if isinstance(value, dict):
        return {key: change(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [change(inner) for inner in value]
    return value


Read: TypeAlias = Callable[[Any], Templated]
"""From a value as it stands in the file to one with templates in place of texts."""

_Block: TypeAlias = tuple[Templated, Callable[[Rendering], Block]]


@dataclass(frozen=True, slots=True)
class Speech:
    """A reply for each conversation: `sample`, with its `blocks` made anew if it has templates."""

    sample: Reply
    blocks: tuple[_Block, ...]

    def reply(self, conversation: Conversation) -> Reply:
        """The reply in this conversation; raises `templates.Missing`."""
        if not self.blocks:
            return self.sample
        rendering = Rendering(conversation)
        return replace(self.sample, blocks=tuple(make(rendering) for _, make in self.blocks))


def speech(
    written: Mapping[str, Any], pace: Pace | None = None, *, literally: bool = False
) -> Speech:
    """What a turn or a case says; `pace` is the script's own; literally: without templates.

    Raises `ImpossibleReply` for what no service sends (unless it names a fault), and ValueError for
    a pace that no clock can keep.
    """
    blocks = tuple(_blocks(written, plain if literally else templated))
    sample = Reply(
        tuple(make(Rendering()) for _, make in blocks),
        finish=written.get("finish"),
        usage=Usage(**written["usage"]) if "usage" in written else None,
        fault=fault(written["fault"]) if "fault" in written else None,
        pace=pace_of(written["pace"]) if "pace" in written else pace,
    )
    same = all(is_plain(source) for source, _ in blocks)
    return Speech(sample, () if same else blocks)


def pace_of(written: str | Mapping[str, Any]) -> Pace:
    """A pace by its profile's name, or by a mapping; raises ValueError for what no clock can do."""
    if isinstance(written, str):
        return PROFILES[written].pace
    fields = dict(written)
    profile = fields.pop("profile", None)
    return replace(PROFILES[profile].pace if profile else Pace(), **fields)


def script_pace(document: Node, problems: Problems) -> Pace | None:
    """The script's own pace."""
    if "pace" not in document.fields:
        return None
    try:
        return pace_of(document.value["pace"])
    except ValueError as error:
        problems.add(document.fields["pace"].line, str(error))
        return None


def fault(written: str | Mapping[str, Any]) -> Fault:
    """A fault by its name, or by a mapping of its name and parameters."""
    if isinstance(written, str):
        return Fault(written)
    return Fault(written["name"], {key: value for key, value in written.items() if key != "name"})


def _blocks(written: Mapping[str, Any], read: Read) -> Iterator[_Block]:
    """The blocks of a reply, in the order in which they are sent."""
    for key, kind in (("think", Thinking), ("refuse", Refusal), ("say", Text)):
        if key in written:
            yield _words(kind, read(written[key]))
    calls = written.get("ask", [])
    for call_written in calls if isinstance(calls, list) else [calls]:
        named = isinstance(call_written, str)
        yield _call({"tool": call_written} if named else call_written, read)
    if "then_say" in written:
        yield _words(Text, read(written["then_say"]))


def _words(kind: Callable[[str], Block], template: Template) -> _Block:
    return template, lambda rendering: kind(rendering.text(template))


def _call(written: Mapping[str, Any], read: Read) -> _Block:
    """One call; arguments that are a text are sent as they are."""
    source = written.get("arguments", {})
    arguments = read(source)
    sent_as_it_is = isinstance(source, str)

    def make(rendering: Rendering) -> ToolCall:
        filled = rendering.text(arguments) if sent_as_it_is else rendering.value(arguments)
        return replace(call(written["tool"], filled), id=written.get("id"))

    return arguments, make
