"""YAML with its places: what stands where, for messages that name the line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import yaml

Path: TypeAlias = tuple[str | int, ...]
"""Keys and indexes from the top of a document."""

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
    def found(self) -> str:
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
        self.found: list[Problem] = []

    def add(self, line: int, message: str) -> None:
        """Note a problem at a line."""
        self.found.append(Problem(self.file, line, message))


def read(text: str, problems: Problems) -> Node | None:
    """The document in the text; None, with the problem noted, if it is no YAML or empty."""
    try:
        loader = yaml.SafeLoader(text)
        try:
            root = loader.get_single_node()
            if root is None:
                problems.add(1, "the file is empty; a script needs 'turns', 'rules' or 'recorded'")
                return None
            return _node(root, loader, problems, frozenset())
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problems.add(mark.line + 1 if mark else 1, f"not YAML: {error.problem or error.context}")
    except yaml.YAMLError as error:
        problems.add(1, f"not YAML: {error}")
    return None


def _node(
    node: yaml.Node, loader: yaml.SafeLoader, problems: Problems, above: frozenset[int]
) -> Node:
    line = node.start_mark.line + 1
    if id(node) in above:
        problems.add(line, "an alias stands inside what it refers to; write the part out")
        return Node(None, line)
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, loader, problems, above | {id(node)})
    if isinstance(node, yaml.SequenceNode):
        items = tuple(_node(one, loader, problems, above | {id(node)}) for one in node.value)
        return Node([item.value for item in items], line, items=items)
    return Node(_scalar(node, loader), line)


def _mapping(
    node: yaml.MappingNode, loader: yaml.SafeLoader, problems: Problems, above: frozenset[int]
) -> Node:
    loader.flatten_mapping(node)  # <<: *anchor
    fields: dict[str, Node] = {}
    key_lines: dict[str, int] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        key = _key(key_node, loader)
        if key in fields and line > key_lines[key]:
            problems.add(
                line, f"the key {key!r} stands here twice (first on line {key_lines[key]})"
            )
        fields[key] = _node(value_node, loader, problems, above)
        key_lines[key] = line
    values = {key: inner.value for key, inner in fields.items()}
    return Node(values, node.start_mark.line + 1, fields=fields, key_lines=key_lines)


def _key(node: yaml.Node, loader: yaml.SafeLoader) -> str:
    """A key as it is written: `on` and `1` are keys like others."""
    return str(node.value) if isinstance(node, yaml.ScalarNode) else repr(_scalar(node, loader))


def _scalar(node: yaml.Node, loader: yaml.SafeLoader) -> Any:
    value = loader.construct_object(node, deep=True)
    known = value is None or isinstance(value, str | bool | int | float | list | dict)
    return value if known else str(node.value)  # a date is text


def _item(items: tuple[Node, ...], index: int) -> Node | None:
    return items[index] if 0 <= index < len(items) else None


def walk(node: Node) -> Iterator[Node]:
    """The node and all nodes in it."""
    yield node
    for inner in (*node.items, *node.fields.values()):
        yield from walk(inner)
