"""Shapes of YAML values: each checks a node, and says itself as JSON Schema.

The language of scripts is written down once, in these, so that `check` and the editor's schema
cannot differ.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from fakeprovider.yamlscripts.nodes import Node, Problems, walk

Json: TypeAlias = dict[str, Any]
Flaw: TypeAlias = Callable[[Any], str]
"""What is wrong with a value, "" for nothing."""


def _flawless(value: Any) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a value may be.

    says: in words, after "allowed:". takes: whether a value is of this kind, well formed inside or
    not. inside: notes every problem of a value that it takes. schema: as JSON Schema.
    """

    says: str
    takes: Callable[[Node], bool]
    inside: Callable[[Node, Problems], None]
    schema: Json

    def check(self, node: Node, problems: Problems) -> None:
        """Note every problem of a value that it takes, and one of a value that it does not."""
        if self.takes(node):
            self.inside(node, problems)
        else:
            _refuse(self.says, node, problems)


def _refuse(allowed: str, node: Node, problems: Problems) -> None:
    problems.add(node.line, f"found {node.described}; allowed: {allowed}")


def _is(*kinds: type) -> Callable[[Node], bool]:
    return lambda node: type(node.value) in kinds


def _scalar(words: str, kinds: tuple[type, ...], schema: Json, flaw: Flaw = _flawless) -> Shape:
    """Text, numbers, true and false."""

    def inside(node: Node, problems: Problems) -> None:
        if why := flaw(node.value):
            _refuse(f"{words}: {why}", node, problems)

    return Shape(words, _is(*kinds), inside, schema)


def text(words: str = "text", flaw: Flaw = _flawless, **schema: Any) -> Shape:
    """Text; YAML's numbers and booleans must be quoted to be text."""
    return _scalar(words, (str,), {"type": "string", **schema}, flaw)


def pattern(words: str, expression: str) -> Shape:
    """Text that a regular expression matches whole."""
    compiled = re.compile(expression)
    return text(
        words,
        lambda value: "" if compiled.fullmatch(value) else "this is not",
        pattern=f"^{expression}$",
    )


def _number(words: str, kinds: tuple[type, ...], schema: Json, least: float, most: float) -> Shape:
    return _scalar(
        words, kinds, schema, lambda value: "" if least <= value <= most else "this is outside"
    )


_MOST = 2**53 - 1
"""Greater numbers lose digits where numbers are floats, as in JavaScript."""


def whole(least: int = 0) -> Shape:
    """A whole number that JSON can carry everywhere."""
    schema = {"type": "integer", "minimum": least, "maximum": _MOST}
    return _number(f"a whole number of {least} or more", (int,), schema, least, _MOST)


def number(words: str, least: float, most: float = math.inf) -> Shape:
    """A number from `least` to `most`."""
    bounds: Json = {"minimum": least} if most == math.inf else {"minimum": least, "maximum": most}
    return _number(words, (int, float), {"type": "number", **bounds}, least, most)


YES_OR_NO = _scalar("true or false", (bool,), {"type": "boolean"})


def anything(words: str = "anything", flaw: Flaw = _flawless) -> Shape:
    """Any value that is one in JSON; `flaw` says what is wrong with a text in it."""

    def inside(node: Node, problems: Problems) -> None:
        nodes = list(walk(node))
        for inner in nodes:
            if isinstance(inner.value, float) and not math.isfinite(inner.value):
                problems.add(inner.line, f"found {inner.described}; JSON has no such number")
        for inner in nodes:
            if isinstance(inner.value, str) and (why := flaw(inner.value)):
                problems.add(inner.line, why)

    return Shape(words, lambda node: True, inside, {})


def one_of(*words: str) -> Shape:
    """One of some words."""

    def inside(node: Node, problems: Problems) -> None:
        if node.value not in words:
            _refuse(" | ".join(words), node, problems)

    return Shape(" | ".join(words), _is(str), inside, {"enum": list(words)})


def list_of(item: Shape, least: int = 1) -> Shape:
    """A list, at least `least` long."""

    def inside(node: Node, problems: Problems) -> None:
        count = len(node.items)
        if count < least:
            problems.add(node.line, f"the list has {count}; allowed: {least} or more")
        for inner in node.items:
            item.check(inner, problems)

    schema = {"type": "array", "minItems": least, "items": item.schema}
    return Shape(f"a list of ({item.says})", _is(list), inside, schema)


def map_of(value: Shape, words: str) -> Shape:
    """A mapping with any keys."""

    def inside(node: Node, problems: Problems) -> None:
        for inner in node.fields.values():
            value.check(inner, problems)

    return Shape(words, _is(dict), inside, {"type": "object", "additionalProperties": value.schema})


Fields: TypeAlias = Mapping[str, tuple[Shape, str]]
"""The values of a mapping by key, each with what it means, in a line."""


def mapping(
    name: str,
    fields: Fields,
    needs: tuple[str, ...] = (),
    least: tuple[str, ...] = (),
    flaw: Flaw = _flawless,
) -> Shape:
    """A mapping with named keys.

    `needs` are those it must have, `least` those of which it must have one; `flaw` says what is
    wrong with values that are right each by itself.
    """
    keys = ", ".join(fields)

    def inside(node: Node, problems: Problems) -> None:
        before = len(problems.noted)
        for key, inner in node.fields.items():
            if key in fields:
                fields[key][0].check(inner, problems)
            else:
                unknown = f"unknown key {key!r} in {name}{_nearest(key, fields)}; allowed: {keys}"
                problems.add(node.key_lines[key], unknown)
        for key in needs:
            if key not in node.fields:
                problems.add(node.line, f"{name} lacks {key!r}")
        lacks_all = least and not any(key in node.fields for key in least)
        if lacks_all and all(key in fields for key in node.fields):  # else that says enough
            problems.add(node.line, f"{name} needs at least one of {', '.join(least)}")
        if len(problems.noted) == before and (why := flaw(node.value)):
            problems.add(node.line, why)

    says = f"{name} (a mapping with {keys})"
    return Shape(says, _is(dict), inside, _mapping_schema(fields, needs, least))


def _nearest(key: str, fields: Fields) -> str:
    near = difflib.get_close_matches(key, fields, n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def _mapping_schema(fields: Fields, needs: tuple[str, ...], least: tuple[str, ...]) -> Json:
    """The JSON Schema of a mapping with named keys."""
    described = {
        key: {**shape.schema, "description": about} for key, (shape, about) in fields.items()
    }
    schema: Json = {"type": "object", "properties": described, "additionalProperties": False}
    if needs:
        schema["required"] = list(needs)
    if least:
        schema["anyOf"] = [{"required": [key]} for key in least]
    return schema


def either(*shapes: Shape) -> Shape:
    """The first of several shapes that takes the value."""
    says = ", or ".join(shape.says for shape in shapes)

    def inside(node: Node, problems: Problems) -> None:
        taking = [shape for shape in shapes if shape.takes(node)]
        for shape in taking:
            trial = Problems(problems.file)
            shape.inside(node, trial)
            if not trial.noted:
                return
        if len(taking) > 1 or not (node.items or node.fields):
            _refuse(says, node, problems)
        else:
            problems.noted += trial.noted

    return Shape(
        says,
        lambda node: any(shape.takes(node) for shape in shapes),
        inside,
        {"anyOf": [shape.schema for shape in shapes]},
    )


@dataclass(frozen=True, slots=True)
class _Named(Shape):
    get: Callable[[], Shape]

    def check(self, node: Node, problems: Problems) -> None:
        self.get().check(node, problems)


def named(name: str, get: Callable[[], Shape]) -> Shape:
    """A shape that is referred to by name, so that it may contain itself."""
    return _Named(
        name.replace("_", " "),
        lambda node: get().takes(node),
        lambda node, problems: get().inside(node, problems),
        {"$ref": f"#/$defs/{name}"},
        get,
    )
