"""Shapes of YAML values: each checks a node, and says itself as JSON Schema.

The language of scripts is written down once, in these, so that `check` and the editor's schema
cannot differ.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from fakeprovider.yamlscripts.nodes import Node, Problems, walk

Json: TypeAlias = dict[str, Any]


class Shape(Protocol):
    """What a value may be."""

    def says(self) -> str:
        """In words, after "allowed:"."""

    def takes(self, node: Node) -> bool:
        """Whether the value is of this kind, well formed inside or not."""

    def check(self, node: Node, problems: Problems) -> None:
        """Note every problem of a value that it takes, and one of a value that it does not."""

    def schema(self) -> Json:
        """As JSON Schema."""


def _refuse(shape: Shape, node: Node, problems: Problems) -> None:
    problems.add(node.line, f"found {node.found}; allowed: {shape.says()}")


@dataclass(frozen=True)
class Scalar:
    """Text, numbers, true and false; `flaw` says what is wrong with one, "" for nothing."""

    words: str
    kinds: tuple[type, ...]
    json: Json
    flaw: Callable[[Any], str] = lambda value: ""

    def says(self) -> str:
        return self.words

    def takes(self, node: Node) -> bool:
        return type(node.value) in self.kinds

    def check(self, node: Node, problems: Problems) -> None:
        if not self.takes(node):
            _refuse(self, node, problems)
        elif flaw := self.flaw(node.value):
            problems.add(node.line, f"found {node.found}; allowed: {self.words}: {flaw}")

    def schema(self) -> Json:
        return dict(self.json)


@dataclass(frozen=True)
class Anything:
    """Any value that is one in JSON."""

    words: str = "anything"

    def says(self) -> str:
        return self.words

    def takes(self, node: Node) -> bool:
        return True

    def check(self, node: Node, problems: Problems) -> None:
        """Nothing is wrong with it, but for a number that is none."""
        check_numbers(node, problems)

    def schema(self) -> Json:
        return {}


def check_numbers(node: Node, problems: Problems) -> None:
    """Note each number in it that JSON has no word for."""
    for inner in walk(node):
        if isinstance(inner.value, float) and not math.isfinite(inner.value):
            problems.add(inner.line, f"found {inner.found}; JSON has no such number")


@dataclass(frozen=True)
class OneOf:
    """One of some words."""

    words: Sequence[str]

    def says(self) -> str:
        return " | ".join(self.words)

    def takes(self, node: Node) -> bool:
        return isinstance(node.value, str)

    def check(self, node: Node, problems: Problems) -> None:
        if node.value not in self.words:
            _refuse(self, node, problems)

    def schema(self) -> Json:
        return {"enum": list(self.words)}


@dataclass(frozen=True)
class ListOf:
    """A list, at least `least` long."""

    inner: Shape
    least: int = 1

    def says(self) -> str:
        return f"a list of ({self.inner.says()})"

    def takes(self, node: Node) -> bool:
        return isinstance(node.value, list)

    def check(self, node: Node, problems: Problems) -> None:
        if not self.takes(node):
            _refuse(self, node, problems)
        elif len(node.items) < self.least:
            problems.add(
                node.line, f"the list has {len(node.items)}; allowed: {self.least} or more"
            )
        for item in node.items:
            self.inner.check(item, problems)

    def schema(self) -> Json:
        return {"type": "array", "minItems": self.least, "items": self.inner.schema()}


@dataclass(frozen=True)
class MapOf:
    """A mapping with any keys."""

    inner: Shape
    words: str

    def says(self) -> str:
        return self.words

    def takes(self, node: Node) -> bool:
        return isinstance(node.value, dict)

    def check(self, node: Node, problems: Problems) -> None:
        if not self.takes(node):
            _refuse(self, node, problems)
        for inner in node.fields.values():
            self.inner.check(inner, problems)

    def schema(self) -> Json:
        return {"type": "object", "additionalProperties": self.inner.schema()}


@dataclass(frozen=True)
class Fields:
    """A mapping with named keys.

    `needs` are those it must have, `least` those of which it must have one; `flaw` says what is
    wrong with values that are right each by itself, "" for nothing.
    """

    name: str
    fields: Mapping[str, tuple[Shape, str]]
    needs: tuple[str, ...] = ()
    least: tuple[str, ...] = field(default=())
    flaw: Callable[[Mapping[str, Any]], str] = lambda value: ""

    def says(self) -> str:
        return f"{self.name} (a mapping with {', '.join(self.fields)})"

    def takes(self, node: Node) -> bool:
        return isinstance(node.value, dict)

    def check(self, node: Node, problems: Problems) -> None:
        if not self.takes(node):
            _refuse(self, node, problems)
            return
        before = len(problems.found)
        for key, inner in node.fields.items():
            if key in self.fields:
                self.fields[key][0].check(inner, problems)
            else:
                problems.add(node.key_lines[key], self._unknown(key))
        for key in self.needs:
            if key not in node.fields:
                problems.add(node.line, f"{self.name} lacks {key!r}")
        if self.least and not any(key in node.fields for key in self.least):
            known = [key for key in node.fields if key in self.fields]
            if len(known) == len(node.fields):  # else the unknown key says enough
                problems.add(
                    node.line, f"{self.name} needs at least one of {', '.join(self.least)}"
                )
        if len(problems.found) == before and (flaw := self.flaw(node.value)):
            problems.add(node.line, flaw)

    def _unknown(self, key: str) -> str:
        near = difflib.get_close_matches(key, self.fields, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        return f"unknown key {key!r} in {self.name}{hint}; allowed: {', '.join(self.fields)}"

    def schema(self) -> Json:
        described = {
            key: {**shape.schema(), "description": text}
            for key, (shape, text) in self.fields.items()
        }
        told: Json = {"type": "object", "properties": described, "additionalProperties": False}
        if self.needs:
            told["required"] = list(self.needs)
        if self.least:
            told["anyOf"] = [{"required": [key]} for key in self.least]
        return told


@dataclass(frozen=True)
class Either:
    """The first of several shapes that takes the value."""

    shapes: tuple[Shape, ...]

    def says(self) -> str:
        return ", or ".join(shape.says() for shape in self.shapes)

    def takes(self, node: Node) -> bool:
        return any(shape.takes(node) for shape in self.shapes)

    def check(self, node: Node, problems: Problems) -> None:
        taking = [shape for shape in self.shapes if shape.takes(node)]
        if not taking:
            _refuse(self, node, problems)
            return
        for shape in taking:
            tried = Problems(problems.file)
            shape.check(node, tried)
            if not tried.found:
                return
        if len(taking) > 1 or not (node.items or node.fields):
            _refuse(self, node, problems)
        else:
            problems.found += tried.found

    def schema(self) -> Json:
        return {"anyOf": [shape.schema() for shape in self.shapes]}


@dataclass(frozen=True)
class Named:
    """A shape that is referred to by name, so that it may contain itself."""

    name: str
    get: Callable[[], Shape]

    def says(self) -> str:
        return self.name.replace("_", " ")

    def takes(self, node: Node) -> bool:
        return self.get().takes(node)

    def check(self, node: Node, problems: Problems) -> None:
        self.get().check(node, problems)

    def schema(self) -> Json:
        return {"$ref": f"#/$defs/{self.name}"}


def text(words: str = "text", flaw: Callable[[str], str] = lambda value: "", **json: Any) -> Scalar:
    """Text; YAML's numbers and booleans must be quoted to be text."""
    return Scalar(words, (str,), {"type": "string", **json}, flaw)


def pattern(words: str, expression: str) -> Scalar:
    """Text that a regular expression matches whole."""
    compiled = re.compile(expression)
    return text(
        words,
        lambda value: "" if compiled.fullmatch(value) else "this is not",
        pattern=f"^{expression}$",
    )


def whole(least: int = 0) -> Scalar:
    """A whole number that JSON can carry everywhere."""
    return Scalar(
        f"a whole number of {least} or more",
        (int,),
        {"type": "integer", "minimum": least, "maximum": _MOST},
        lambda value: "" if least <= value <= _MOST else "this is outside",
    )


_MOST = 2**53 - 1
"""Greater numbers lose digits where numbers are floats, as in JavaScript."""


def number(words: str, least: float, most: float = math.inf) -> Scalar:
    """A number from `least` to `most`."""
    bounds: Json = {"minimum": least} if most == math.inf else {"minimum": least, "maximum": most}
    return Scalar(
        words,
        (int, float),
        {"type": "number", **bounds},
        lambda value: "" if least <= value <= most else "this is outside",
    )


YES_OR_NO = Scalar("true or false", (bool,), {"type": "boolean"})
