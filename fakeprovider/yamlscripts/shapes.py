"""Shapes of YAML values: each checks a node, and says itself as JSON Schema.

The language of scripts is written down once, in these, so that `check` and the editor's schema
cannot differ.
"""

from __future__ import annotations

import difflib
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from fakeprovider.yamlscripts.nodes import Node, Problems, walk

Json: TypeAlias = dict[str, Any]


def _flawless(value: Any) -> str:
    return ""


class Shape(ABC):
    """What a value may be."""

    @abstractmethod
    def says(self) -> str:
        """In words, after "allowed:"."""

    @abstractmethod
    def takes(self, node: Node) -> bool:
        """Whether the value is of this kind, well formed inside or not."""

    @abstractmethod
    def schema(self) -> Json:
        """As JSON Schema."""

    def check(self, node: Node, problems: Problems) -> None:
        """Note every problem of a value that it takes, and one of a value that it does not."""
        if self.takes(node):
            self.check_inside(node, problems)
        else:
            self.refuse(node, problems)

    @abstractmethod
    def check_inside(self, node: Node, problems: Problems) -> None:
        """Note every problem of a value that it takes."""

    def refuse(self, node: Node, problems: Problems, why: str = "") -> None:
        """Note that the value is not one of these."""
        reason = f": {why}" if why else ""
        problems.add(node.line, f"found {node.described}; allowed: {self.says()}{reason}")


@dataclass(frozen=True)
class Scalar(Shape):
    """Text, numbers, true and false; `flaw` says what is wrong with one, "" for nothing."""

    words: str
    kinds: tuple[type, ...]
    json: Json
    flaw: Callable[[Any], str] = _flawless

    def says(self) -> str:
        return self.words

    def takes(self, node: Node) -> bool:
        return type(node.value) in self.kinds

    def check_inside(self, node: Node, problems: Problems) -> None:
        if flaw := self.flaw(node.value):
            self.refuse(node, problems, flaw)

    def schema(self) -> Json:
        return dict(self.json)


@dataclass(frozen=True)
class Anything(Shape):
    """Any value that is one in JSON; `flaw` says what is wrong with a text in it."""

    words: str = "anything"
    flaw: Callable[[str], str] = _flawless

    def says(self) -> str:
        return self.words

    def takes(self, node: Node) -> bool:
        return True

    def check_inside(self, node: Node, problems: Problems) -> None:
        inner_nodes = list(walk(node))
        for inner in inner_nodes:
            if isinstance(inner.value, float) and not math.isfinite(inner.value):
                problems.add(inner.line, f"found {inner.described}; JSON has no such number")
        for inner in inner_nodes:
            if isinstance(inner.value, str) and (flaw := self.flaw(inner.value)):
                problems.add(inner.line, flaw)

    def schema(self) -> Json:
        return {}


@dataclass(frozen=True)
class OneOf(Shape):
    """One of some words."""

    words: Sequence[str]

    def says(self) -> str:
        return " | ".join(self.words)

    def takes(self, node: Node) -> bool:
        return isinstance(node.value, str)

    def check_inside(self, node: Node, problems: Problems) -> None:
        if node.value not in self.words:
            self.refuse(node, problems)

    def schema(self) -> Json:
        return {"enum": list(self.words)}


@dataclass(frozen=True)
class ListOf(Shape):
    """A list, at least `least` long."""

    inner: Shape
    least: int = 1

    def says(self) -> str:
        return f"a list of ({self.inner.says()})"

    def takes(self, node: Node) -> bool:
        return isinstance(node.value, list)

    def check_inside(self, node: Node, problems: Problems) -> None:
        count = len(node.items)
        if count < self.least:
            problems.add(node.line, f"the list has {count}; allowed: {self.least} or more")
        for item in node.items:
            self.inner.check(item, problems)

    def schema(self) -> Json:
        return {"type": "array", "minItems": self.least, "items": self.inner.schema()}


@dataclass(frozen=True)
class MapOf(Shape):
    """A mapping with any keys."""

    inner: Shape
    words: str

    def says(self) -> str:
        return self.words

    def takes(self, node: Node) -> bool:
        return isinstance(node.value, dict)

    def check_inside(self, node: Node, problems: Problems) -> None:
        for inner in node.fields.values():
            self.inner.check(inner, problems)

    def schema(self) -> Json:
        return {"type": "object", "additionalProperties": self.inner.schema()}


@dataclass(frozen=True)
class Fields(Shape):
    """A mapping with named keys.

    `needs` are those it must have, `least` those of which it must have one; `flaw` says what is
    wrong with values that are right each by itself, "" for nothing.
    """

    name: str
    fields: Mapping[str, tuple[Shape, str]]
    needs: tuple[str, ...] = ()
    least: tuple[str, ...] = ()
    flaw: Callable[[Mapping[str, Any]], str] = _flawless

    def says(self) -> str:
        return f"{self.name} (a mapping with {', '.join(self.fields)})"

    def takes(self, node: Node) -> bool:
        return isinstance(node.value, dict)

    def check_inside(self, node: Node, problems: Problems) -> None:
        before = len(problems.noted)
        unknown = [key for key in node.fields if key not in self.fields]
        for key, inner in node.fields.items():
            if key in unknown:
                problems.add(node.key_lines[key], self._unknown(key))
            else:
                self.fields[key][0].check(inner, problems)
        for key in self.needs:
            if key not in node.fields:
                problems.add(node.line, f"{self.name} lacks {key!r}")
        lacking = self.least and not any(key in node.fields for key in self.least)
        if lacking and not unknown:  # else the unknown key says enough
            problems.add(node.line, f"{self.name} needs at least one of {', '.join(self.least)}")
        if len(problems.noted) == before and (flaw := self.flaw(node.value)):
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
        schema: Json = {"type": "object", "properties": described, "additionalProperties": False}
        if self.needs:
            schema["required"] = list(self.needs)
        if self.least:
            schema["anyOf"] = [{"required": [key]} for key in self.least]
        return schema


@dataclass(frozen=True)
class Either(Shape):
    """The first of several shapes that takes the value."""

    shapes: tuple[Shape, ...]

    def says(self) -> str:
        return ", or ".join(shape.says() for shape in self.shapes)

    def takes(self, node: Node) -> bool:
        return any(shape.takes(node) for shape in self.shapes)

    def check_inside(self, node: Node, problems: Problems) -> None:
        taking = [shape for shape in self.shapes if shape.takes(node)]
        for shape in taking:
            trial = Problems(problems.file)
            shape.check_inside(node, trial)
            if not trial.noted:
                return
        if len(taking) > 1 or not (node.items or node.fields):
            self.refuse(node, problems)
        else:
            problems.noted += trial.noted

    def schema(self) -> Json:
        return {"anyOf": [shape.schema() for shape in self.shapes]}


@dataclass(frozen=True)
class Named(Shape):
    """A shape that is referred to by name, so that it may contain itself."""

    name: str
    get: Callable[[], Shape]

    def says(self) -> str:
        return self.name.replace("_", " ")

    def takes(self, node: Node) -> bool:
        return self.get().takes(node)

    def check(self, node: Node, problems: Problems) -> None:
        self.get().check(node, problems)

    def check_inside(self, node: Node, problems: Problems) -> None:
        self.get().check_inside(node, problems)

    def schema(self) -> Json:
        return {"$ref": f"#/$defs/{self.name}"}


def text(words: str = "text", flaw: Callable[[str], str] = _flawless, **json: Any) -> Scalar:
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


_MOST = 2**53 - 1
"""Greater numbers lose digits where numbers are floats, as in JavaScript."""


def whole(least: int = 0) -> Scalar:
    """A whole number that JSON can carry everywhere."""
    bounds = {"minimum": least, "maximum": _MOST}
    return _numeric(
        f"a whole number of {least} or more", (int,), {"type": "integer", **bounds}, least, _MOST
    )


def number(words: str, least: float, most: float = math.inf) -> Scalar:
    """A number from `least` to `most`."""
    bounds: Json = {"minimum": least} if most == math.inf else {"minimum": least, "maximum": most}
    return _numeric(words, (int, float), {"type": "number", **bounds}, least, most)


def _numeric(
    words: str, kinds: tuple[type, ...], schema: Json, least: float, most: float
) -> Scalar:
    return Scalar(
        words, kinds, schema, lambda value: "" if least <= value <= most else "this is outside"
    )


YES_OR_NO = Scalar("true or false", (bool,), {"type": "boolean"})
