"""Schemas that a validator would never get to the end of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

Schema: TypeAlias = Mapping[str, object]
Resolve: TypeAlias = Callable[[str], object]

REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
DEEPEST_SCHEMA = 100
"""Levels of nesting of a schema that are looked into."""

_IN_PLACE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas")


def too_nested(schema: object) -> bool:
    """Whether the schema is nested deeper than validators, which recurse, can go."""
    level: list[object] = [schema]
    for _ in range(DEEPEST_SCHEMA):
        level = [inner for one in level for inner in _inside(one)]
        if not level:
            return False
    return True


def endless_reference(root: object, resolve: Resolve) -> str | None:
    """A reference that leads back to its own schema at the same place of the instance, or None.

    JSON Schema 2020-12 (core, 9.4.1) forbids such a loop. One that passes through a property or an
    item is ordinary recursion. `resolve` returns what a reference leads to, None for nothing.
    """
    done: set[int] = set()
    for schema in _every(root):
        found = _loop(schema, resolve, done, frozenset())
        if found is not None:
            return found
    return None


def _loop(schema: object, resolve: Resolve, done: set[int], above: frozenset[int]) -> str | None:
    if not isinstance(schema, Mapping) or id(schema) in done:
        return None
    for target in references(schema):
        reached = resolve(target)
        if id(reached) in above or reached is schema:
            return target
        found = _loop(reached, resolve, done, above | {id(schema)})
        if found is not None:
            return found
    for inner in _in_place(schema):
        found = _loop(inner, resolve, done, above | {id(schema)})
        if found is not None:
            return found
    done.add(id(schema))
    return None


def references(schema: Schema) -> list[str]:
    """The references of this schema itself."""
    return [target for word in REFERENCES if isinstance(target := schema.get(word), str)]


def _in_place(schema: Schema) -> Iterator[object]:
    for keyword in _IN_PLACE:
        value = schema.get(keyword)
        if isinstance(value, list):
            yield from value
        elif keyword == "dependentSchemas" and isinstance(value, Mapping):
            yield from value.values()
        else:
            yield value


def _every(schema: object) -> Iterator[object]:
    """The schema and everything inside it (data that looks like a schema does no harm)."""
    yield schema
    for inner in _inside(schema):
        yield from _every(inner)


def _inside(value: object) -> Iterator[object]:
    if isinstance(value, Mapping):
        yield from value.values()
    elif isinstance(value, list):
        yield from value
