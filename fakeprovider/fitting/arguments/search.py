"""A bounded search for the smallest value that a JSON Schema admits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from jsonschema.protocols import Validator
from jsonschema.validators import validator_for
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from fakeprovider.fitting.arguments.loops import (
    DEEPEST_SCHEMA,
    REFERENCES,
    endless_reference,
    references,
    too_nested,
)
from fakeprovider.fitting.arguments.numbers import Bounds, numbers
from fakeprovider.fitting.arguments.rows import distinct_rows, key, rows, smallest_first
from fakeprovider.fitting.arguments.schema import (
    COMBINATORS,
    Parts,
    Schema,
    choices,
    contained,
    implied,
    items_at,
    listed,
    made_up_names,
    prefix_length,
    properties,
    property_schemas,
    required,
    types,
    whole,
    without,
)
from fakeprovider.fitting.arguments.texts import lengths, texts

DEEPEST = 24
"""Levels of nesting that are tried before a schema counts as endless."""
PATIENCE = 20_000
"""Values that are looked at before the search gives up."""


class Unsatisfiable(ValueError):
    """No value was found that the schema admits; the message says where and why."""


class _Exhausted(Exception):
    """Patience ran out."""


class _NoValue(Exception):
    """What stands at one place of the schema admits nothing."""


def smallest_arguments(schema: Mapping[str, object] | None) -> dict[str, Any]:
    """The smallest object that a tool's parameters schema admits.

    Only what is required is given: a declared default, else null, else the shortest text, the
    number nearest to zero, the fewest items. The draft is the one that `$schema` names (2020-12
    without). The result validates, whether formats are asserted (as far as jsonschema can) or not.

    Raises Unsatisfiable, saying where and why.
    """
    wanted: dict[str, Any] = dict(schema or {})
    if too_nested(wanted):
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
    too_deep: something was left out for its depth.
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
        if (loop := endless_reference(self.root.schema, self.found)) is not None:
            raise Unsatisfiable(f"$ref {loop!r} leads back to itself")
        try:
            for self.guessing in (True, False):
                for depth in range(1, DEEPEST + 1):
                    self.too_deep, self.failures = False, []
                    for value in self.values(wanted, "arguments", depth):
                        assert isinstance(value, dict)  # it was asked to be an object
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
        deepest = max(self.failures, key=lambda one: one[0].count("."), default=None)
        return ": ".join(deepest) if deepest else "every value so far failed another keyword"

    def values(self, schema: object, path: str, depth: int) -> Iterator[object]:
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
                if key(value) not in seen and strict.is_valid(value) and lax.is_valid(value):
                    seen.add(key(value))
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
                    yield from smallest_first(
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
                yield from self.flat([*map(self.referred, references(schema)), *implied(schema)])
                yield without(schema, *REFERENCES, "allOf")

    def referred(self, target: str) -> object:
        """What a reference leads to."""
        found = self.found(target)
        if found is None:
            raise _NoValue(f"$ref {target!r} leads nowhere")
        return found

    def found(self, target: str) -> object:
        """What a reference leads to, None for nothing."""
        try:
            return self.resolver.lookup(target).contents
        except Unresolvable:
            return None

    def plain(self, parts: Parts, path: str, depth: int) -> Iterator[object]:
        """Values for parts that hold no references and no alternatives."""
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
        order = smallest_first if typed else chain.from_iterable
        yield from order(self.typed(kind, parts, path, depth) for kind in kinds)
        for part in parts:
            examples = part.get("examples")
            yield from examples if isinstance(examples, list) else []

    def typed(self, kind: str, parts: Parts, path: str, depth: int) -> Iterator[object]:
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
        return self.noted(numbers(bounds), path, f"there is no {kind} {bounds}")

    def noted(self, values: Iterator[object], path: str, otherwise: str) -> Iterator[object]:
        """The values; if there are none, that is noted as the failure."""
        none = True
        for value in values:
            none = False
            yield value
        if none:
            self.failures.append((path, otherwise))

    def strings(self, parts: Parts, path: str) -> Iterator[object]:
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

    def arrays(self, parts: Parts, path: str, depth: int) -> Iterator[object]:
        """Lists as short as they may be."""
        needed, count = contained(parts)
        length = max(count, whole(parts, "minItems"))
        if length == 0:
            yield []

        def candidates(index: int) -> Iterator[object]:
            wanted = [*items_at(parts, index), *(needed if index < count else [])]
            return self.values({"allOf": wanted}, f"{path}.{index}", depth - 1)

        if any(part.get("uniqueItems") is True for part in parts):
            yield from islice(distinct_rows([*map(candidates, range(length))]), 8)
        elif length:
            described = max(count, prefix_length(parts)) + 1
            yield from _repeated(min(length, described), length, candidates)

    def objects(self, parts: Parts, path: str, depth: int) -> Iterator[object]:
        """Objects with what is required, then with optional properties too."""
        for names in _name_lists(parts):
            columns = [
                self.values({"allOf": property_schemas(parts, name)}, f"{path}.{name}", depth - 1)
                for name in names
            ]
            for row in rows(columns):
                yield dict(zip(names, row, strict=True))


def _repeated(
    head: int, length: int, candidates: Callable[[int], Iterator[object]]
) -> Iterator[list[object]]:
    """Lists whose first `head` items are chosen one by one, the last of them being repeated."""
    for row in rows([candidates(index) for index in range(head)]):
        yield [*row, *[row[-1]] * (length - head)]


def _name_lists(parts: Parts) -> Iterator[list[str]]:
    """Which properties to give: the required ones, filled up to the least number; then more."""
    must = list(dict.fromkeys(chain.from_iterable(map(required, parts))))
    declared = list(dict.fromkeys(chain.from_iterable(map(properties, parts))))
    optional = [name for name in declared if name not in must]
    spare = chain(optional, made_up_names(parts, [*must, *declared]))
    fewest = [*must, *islice(spare, max(0, whole(parts, "minProperties") - len(must)))]
    more = [name for name in optional if name not in fewest]
    yield fewest
    yield from ([*fewest, name] for name in more)
    if len(more) > 1:
        yield [*fewest, *more]
