"""JSON values of a script in whose texts templates stand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from fakeprovider.conversation import Conversation
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
    if isinstance(value, dict):
        return {key: change(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [change(inner) for inner in value]
    return value
