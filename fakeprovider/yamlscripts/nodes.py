"""YAML with its places: what stands where, for messages that name the line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import yaml

Path: TypeAlias = tuple[str | int, ...]
"""Keys and indexes from the top of a document."""

_MOST_REPEATED = 100_000
_SURROGATE = re.compile("[\ud800-\udfff]")
_NAMES = {str: "text", bool: "true or false", int: "a whole number", float: "a number"}


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong in a file: what was found at the line, and what is allowed there."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


@dataclass(frozen=True, slots=True)
class Node:
    """A value and the line (from 1) it stands on; of a mapping, also the lines of its keys."""

    value: Any
    line: int
    items: tuple[Node, ...] = ()
    fields: dict[str, Node] = field(default_factory=dict)
    key_lines: dict[str, int] = field(default_factory=dict)

    def at(self, path: Path) -> Node:
        """The node at the path, or the last one on the way to it."""
        node = self
        for step in path:
            inner = node.fields.get(step) if isinstance(step, str) else _item(node.items, step)
            if inner is None:
                break
            node = inner
        return node

    @property
    def described(self) -> str:
        """What it is, in words."""
        if self.value is None:
            return "nothing"
        if isinstance(self.value, dict):
            return f"a mapping with {', '.join(self.fields) or 'no keys'}"
        if isinstance(self.value, list):
            return f"a list of {len(self.items)}"
        shown = f"{self.value!r}" if len(str(self.value)) <= 60 else f"{str(self.value)[:60]!r}..."
        return f"{_NAMES.get(type(self.value), type(self.value).__name__)} {shown}"


class Problems:
    """The problems of one file."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.noted: list[Problem] = []

    def add(self, line: int, message: str) -> None:
        """Note a problem at a line."""
        self.noted.append(Problem(self.file, line, message))


def read(text: str, problems: Problems) -> Node | None:
    """The document in the text; None, with the problem noted, if it is no YAML or empty."""
    try:
        loader = yaml.SafeLoader(text)
        try:
            root = loader.get_single_node()
            if root is None:
                problems.add(1, "the file is empty; a script needs 'turns', 'rules' or 'recorded'")
                return None
            return _Reading(loader, problems).node(root, frozenset())
        finally:
            loader.dispose()
    except RecursionError:
        problems.add(1, "not YAML that can be read: it is nested too deeply")
    except _TooMany as error:
        problems.add(error.line, f"aliases stand for over {_MOST_REPEATED:,} values")
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problems.add(mark.line + 1 if mark else 1, f"not YAML: {error.problem or error.context}")
    except yaml.YAMLError as error:
        problems.add(1, f"not YAML: {error}")
    return None


class _TooMany(ValueError):
    """Aliases of aliases."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


class _Reading:
    """Makes nodes of a document, and counts those that are made again for an alias."""

    def __init__(self, loader: yaml.SafeLoader, problems: Problems) -> None:
        self._loader = loader
        self._problems = problems
        self._seen: set[int] = set()
        self._repeated = 0

    def node(self, node: yaml.Node, above: frozenset[int]) -> Node:
        """The node and all in it; `above` are those around it."""
        line = node.start_mark.line + 1
        self._repeated += id(node) in self._seen
        self._seen.add(id(node))
        if self._repeated > _MOST_REPEATED:
            raise _TooMany(line)
        if id(node) in above:
            self._problems.add(line, "an alias stands inside what it refers to; write the part out")
            return Node(None, line)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, above | {id(node)})
        if isinstance(node, yaml.SequenceNode):
            items = tuple(self.node(item, above | {id(node)}) for item in node.value)
            return Node([item.value for item in items], line, items=items)
        return Node(self._value(node, line), line)

    def _mapping(self, node: yaml.MappingNode, above: frozenset[int]) -> Node:
        """The node of a mapping, with keys that stand there twice noted."""
        self._loader.flatten_mapping(node)  # <<: *anchor
        fields: dict[str, Node] = {}
        key_lines: dict[str, int] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            key = self._whole(self._key(key_node), line)
            if key in fields and line > key_lines[key]:
                self._problems.add(
                    line, f"the key {key!r} stands here twice (first on line {key_lines[key]})"
                )
            fields[key] = self.node(value_node, above)
            key_lines[key] = line
        values = {key: inner.value for key, inner in fields.items()}
        return Node(values, node.start_mark.line + 1, fields=fields, key_lines=key_lines)

    def _key(self, node: yaml.Node) -> str:
        """A key as it is written: `on` and `1` are keys like others."""
        return str(node.value) if isinstance(node, yaml.ScalarNode) else repr(self._scalar(node))

    def _value(self, node: yaml.Node, line: int) -> Any:
        value = self._scalar(node)
        return self._whole(value, line) if isinstance(value, str) else value

    def _whole(self, text: str, line: int) -> str:
        """The text, or "" with the problem noted if half a character stands in it."""
        if not _SURROGATE.search(text):
            return text
        self._problems.add(line, "half a surrogate pair (\\ud800 to \\udfff) is no character")
        return ""

    def _scalar(self, node: yaml.Node) -> Any:
        value = self._loader.construct_object(node, deep=True)
        is_json = value is None or isinstance(value, str | bool | int | float | list | dict)
        return value if is_json else str(node.value)  # a date is text


def _item(items: tuple[Node, ...], index: int) -> Node | None:
    return items[index] if 0 <= index < len(items) else None


def walk(node: Node) -> Iterator[Node]:
    """The node and all nodes in it."""
    yield node
    for inner in (*node.items, *node.fields.values()):
        yield from walk(inner)
