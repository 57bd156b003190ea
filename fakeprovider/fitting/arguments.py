"""The smallest arguments that a tool's JSON Schema admits: a bounded search."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, product
from typing import Any, TypeAlias

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from jsonschema.protocols import Validator
from jsonschema.validators import validator_for
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from fakeprovider.fitting.argument_schemas import (
    COMBINATORS,
    REFERENCES,
    Bounds,
    Schema,
    Schemas,
    choices,
    contained,
    endless_reference,
    implied,
    item,
    largest,
    listed,
    name_lists,
    nested_deeper,
    prefix,
    property_schemas,
    references,
    types,
    without,
)
from fakeprovider.fitting.argument_texts import lengths, texts

DEEPEST_SCHEMA = 100
"""Levels of nesting of a schema that are looked into."""
DEEPEST = 24
"""Levels of nesting that are tried before a schema counts as endless."""
PATIENCE = 20_000
"""Values that are looked at before the search gives up."""

Values: TypeAlias = Iterator[object]


class Unsatisfiable(ValueError):
    """No value was found that the schema admits; the message says where and why."""


class _Exhausted(Exception):
    """Patience ran out."""


class _NoValue(Exception):
    """What stands at one place of the schema admits nothing."""


def admits(schema: Mapping[str, Any] | None, arguments: Mapping[str, Any]) -> bool:
    """Whether `schema` (None: no demands) admits the arguments; False if it is no schema at all."""
    if schema is None:
        return True
    if nested_deeper(schema, DEEPEST_SCHEMA):
        return False
    cls = validator_for(schema, default=Draft202012Validator)
    try:
        cls.check_schema(dict(schema))
        return bool(cls(dict(schema)).is_valid(arguments))
    except (SchemaError, Unresolvable):
        return False


def smallest_arguments(schema: Mapping[str, object] | None) -> dict[str, Any]:
    """The smallest object that a tool's parameters schema admits.

    Only what is required is given: a declared default, else null, else the shortest text, the
    number nearest to zero, the fewest items. The draft is the one that `$schema` names (2020-12
    without). The result validates, whether formats are asserted (as far as jsonschema can) or not.

    Raises Unsatisfiable, saying where and why.
    """
    wanted: dict[str, Any] = dict(schema or {})
    if nested_deeper(wanted, DEEPEST_SCHEMA):
        raise Unsatisfiable(f"its schema has more than {DEEPEST_SCHEMA} levels of nesting")
    cls = validator_for(wanted, default=Draft202012Validator)
    try:
        cls.check_schema(wanted)
    except SchemaError as error:
        raise Unsatisfiable(f"not a JSON Schema: {error.message}") from error
    search = _Search(cls(wanted, format_checker=cls.FORMAT_CHECKER))
    return search.first({"allOf": [wanted, {"type": "object"}]})


@dataclass
class _Search:
    """One search; `root` is the validator of the whole schema, where references lead.

    guessing: where no type is declared, only those that the keywords hint at are tried.
    too_deep: something was left out for its depth. failures: places and reasons.
    """

    root: Validator
    left: int = PATIENCE
    guessing: bool = True
    too_deep: bool = False
    failures: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        resource = Resource.from_contents(self.root.schema, default_specification=DRAFT202012)
        self.resolver = Registry().resolver_with_root(resource)

    def first(self, wanted: Schema) -> dict[str, Any]:
        """The first value found, shallow ones being looked for before deep ones."""
        if (loop := endless_reference(self.root.schema, self.resolved)) is not None:
            raise Unsatisfiable(f"$ref {loop!r} leads back to itself")
        try:
            for self.guessing in (True, False):
                for depth in range(1, DEEPEST + 1):
                    self.too_deep, self.failures = False, []
                    for value in self.values(wanted, "arguments", depth):
                        assert isinstance(value, dict)  # the schema says so
                        return value
                    if not self.too_deep:
                        break
        except _Exhausted:
            raise Unsatisfiable(f"gave up after {PATIENCE} values; {self.why()}") from None
        raise Unsatisfiable(self.why())

    def why(self) -> str:
        """The failure at the deepest place."""
        if self.too_deep:
            return f"no value has at most {DEEPEST} levels of nesting: it never ends"
        deepest = max(self.failures, key=lambda failure: failure[0].count("."), default=None)
        return ": ".join(deepest) if deepest else "every value so far failed another keyword"

    def values(self, schema: object, path: str, depth: int) -> Values:
        """Values that the schema admits, small ones first, each checked, none twice."""
        if depth < 0:
            self.too_deep = True
            return
        seen: set[str] = set()
        # A format may or may not be asserted, and under `not` these are two different things.
        strict = self.root.evolve(schema=schema)
        lax = strict.evolve(format_checker=None)
        try:
            for value in self.proposals([schema], path, depth):
                self.left -= 1
                if self.left < 0:
                    raise _Exhausted
                if _key(value) not in seen and strict.is_valid(value) and lax.is_valid(value):
                    seen.add(_key(value))
                    yield value
        except Unresolvable as error:  # met by the validator
            self.failures.append((path, f"$ref {error.ref!r} leads nowhere"))
        if not seen:
            self.failures.append((path, "no value satisfies all keywords at once"))

    def proposals(self, schemas: Sequence[object], path: str, depth: int) -> Iterator[Any]:
        """Values that may satisfy all schemas."""
        try:
            parts = [*self.flat(schemas)]
        except _NoValue as none:
            self.failures.append((path, str(none)))
            return
        for place, part in enumerate(parts):
            for keyword in COMBINATORS:
                if keyword in part:
                    rest = [*parts[:place], without(part, keyword), *parts[place + 1 :]]
                    yield from _smallest_first(
                        self.proposals([*rest, choice], path, depth)
                        for choice in choices(part, keyword)
                    )
                    return
        yield from self.plain(parts, path, depth)

    def flat(self, schemas: Iterable[object]) -> Iterator[Schema]:
        """The schemas with references followed and allOf taken apart."""
        for schema in schemas:
            if schema is False:
                raise _NoValue("its schema is false, which admits nothing")
            if isinstance(schema, Mapping):
                targets = references(schema)
                for target in targets:
                    if self.resolved(target) is None:
                        raise _NoValue(f"$ref {target!r} leads nowhere")
                yield from self.flat([*map(self.resolved, targets), *implied(schema)])
                yield without(schema, *REFERENCES, "allOf")

    def resolved(self, target: str) -> object:
        """What a reference leads to, None for nothing."""
        try:
            return self.resolver.lookup(target).contents
        except Unresolvable:
            return None

    def plain(self, parts: Schemas, path: str, depth: int) -> Values:
        """Values for schemas that hold no references and no alternatives."""
        yield from (part["default"] for part in parts if "default" in part)
        named = [members for part in parts if (members := listed(part)) is not None]
        if named:
            yield from min(named, key=len)
            return
        kinds = types(parts, guess=self.guessing)
        if not kinds:
            self.failures.append((path, "no type is admitted by all keywords"))
        # Without a declared type the first is a guess at what is meant, whatever its size.
        typed = any("type" in part for part in parts)
        order = _smallest_first if typed else chain.from_iterable
        yield from order(self.typed(kind, parts, path, depth) for kind in kinds)
        for part in parts:
            examples = part.get("examples")
            yield from examples if isinstance(examples, list) else []

    def typed(self, kind: str, parts: Schemas, path: str, depth: int) -> Values:
        """Values of one type."""
        match kind:
            case "null":
                return iter([None])
            case "boolean":
                return iter([False, True])
            case "string":
                return self.strings(parts, path)
            case "array":
                return self.arrays(parts, path, depth)
            case "object":
                return self.objects(parts, path, depth)
        bounds = Bounds.of(parts, integer=kind == "integer")
        return self.noted(bounds.numbers(), path, f"there is no {kind} {bounds}")

    def noted(self, values: Values, path: str, otherwise: str) -> Values:
        """The values; if there are none, that is noted as the failure."""
        none = True
        for value in values:
            none = False
            yield value
        if none:
            self.failures.append((path, otherwise))

    def strings(self, parts: Schemas, path: str) -> Values:
        """Strings, or the reason why there are none."""
        least, most = lengths(parts)
        wanted = [f"of {least} characters or more"] if least else []
        wanted += [f"of at most {most:g} characters"] if most < float("inf") else []
        for keyword in ("pattern", "format"):
            wanted += [f"of {keyword} {part[keyword]!r}" for part in parts if keyword in part]
        try:
            yield from self.noted(texts(parts), path, "found no string " + " and ".join(wanted))
        except re.error as error:
            self.failures.append((path, f"its pattern cannot be compiled: {error}"))

    def arrays(self, parts: Schemas, path: str, depth: int) -> Values:
        """Lists as short as they may be."""
        needed, count = contained(parts)
        length = max(count, largest(parts, "minItems"))
        if length == 0:
            yield []

        def candidates(index: int) -> Values:
            wanted = [*(item(part, index) for part in parts), *(needed if index < count else [])]
            return self.values({"allOf": wanted}, f"{path}.{index}", depth - 1)

        if any(part.get("uniqueItems") is True for part in parts):
            yield from islice(_distinct_rows([*map(candidates, range(length))]), 8)
        elif length:
            described = max(count, *(len(prefix(part)) for part in parts)) + 1
            yield from _repeated(min(length, described), length, candidates)

    def objects(self, parts: Schemas, path: str, depth: int) -> Values:
        """Objects with what is required, then with optional properties too."""
        for names in name_lists(parts):
            columns = [
                self.values({"allOf": property_schemas(parts, name)}, f"{path}.{name}", depth - 1)
                for name in names
            ]
            for row in _rows(columns):
                yield dict(zip(names, row, strict=True))


def _key(value: object) -> str:
    """Equal for equal JSON values, and only for those."""
    return json.dumps(value, sort_keys=True)


def _smallest_first(streams: Iterable[Values]) -> Values:
    """The first value of each stream, null and short ones first; then the others in turn."""
    heads = [(value, stream) for stream in streams for value in islice(stream, 1)]
    heads.sort(key=lambda head: (head[0] is not None, len(_key(head[0]))))
    yield from (value for value, _ in heads)
    running = [stream for _, stream in heads]
    while running:
        for stream in tuple(running):
            more = list(islice(stream, 1))
            if not more:
                running.remove(stream)
            yield from more


def _rows(columns: Sequence[Values]) -> Iterator[tuple[object, ...]]:
    """Rows of one value per column: the first of each, then combinations of the first few.

    No row if a column is empty; columns after that one are not looked at.
    """
    first: list[object] = []
    for column in columns:
        head = list(islice(column, 1))
        if not head:
            return
        first += head
    yield tuple(first)
    few = [[head, *islice(column, 2)] for head, column in zip(first, columns, strict=True)]
    yield from islice(product(*few), 1, 64)


def _repeated(
    head: int, length: int, candidates: Callable[[int], Values]
) -> Iterator[list[object]]:
    """Lists whose first `head` items are chosen one by one, the last of them being repeated."""
    for row in _rows([candidates(index) for index in range(head)]):
        yield [*row, *[row[-1]] * (length - head)]


def _distinct_rows(columns: Sequence[Values]) -> Iterator[list[object]]:
    """Rows of one value per column, no two of them equal, found by backtracking."""
    kept: list[list[object]] = [[] for _ in columns]
    tried = [0] * len(columns)
    chosen: list[object] = []
    while columns:
        place = len(chosen)
        if place < len(columns):
            kept[place] += islice(columns[place], max(0, tried[place] + 1 - len(kept[place])))
            if tried[place] < len(kept[place]):
                value = kept[place][tried[place]]
                tried[place] += 1
                if _key(value) not in map(_key, chosen):
                    chosen.append(value)
                continue
            tried[place] = 0
        else:
            yield list(chosen)
        if not chosen:
            return
        chosen.pop()
