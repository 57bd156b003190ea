"""What a list of JSON Schemas, all of which must hold, says about one place.

Reading several schemas side by side spares merging them: a bound is the tightest of all, a
property's schema is everything that any of them says of it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, islice
from typing import TypeAlias

from fakeprovider.fitting.argument_texts import numbers_under, texts

Schema: TypeAlias = Mapping[str, object]
Schemas: TypeAlias = Sequence[Schema]

REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
COMBINATORS = ("anyOf", "oneOf", "if")
_IN_PLACE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas")
_HINTS: Mapping[str, tuple[str, ...]] = {
    "object": ("properties", "required", "additionalProperties", "minProperties"),
    "array": ("items", "prefixItems", "minItems", "contains", "uniqueItems"),
    "string": ("minLength", "maxLength", "pattern", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}
_UNTYPED = ("string", "number", "boolean", "object", "array", "null")
_NUMERIC = frozenset({"integer", "number"})


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _table(value: object) -> Schema:
    return value if isinstance(value, Mapping) else {}


def _inside(value: object) -> Iterable[object]:
    return value.values() if isinstance(value, Mapping) else _list(value)


def nested_deeper(schema: object, levels: int) -> bool:
    """Whether the schema has more levels than that: validators recurse, and cannot go on."""
    level: list[object] = [schema]
    for _ in range(levels):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return False
    return True


def endless_reference(root: object, resolve: Callable[[str], object]) -> str | None:
    """A reference that leads back to its own schema at the same place of the instance, or None.

    JSON Schema 2020-12 (core, 9.4.1) forbids such a loop. One that passes through a property or an
    item is ordinary recursion. `resolve` returns what a reference leads to, None for nothing.
    """
    done: set[int] = set()

    def loop_in(schema: object, above: frozenset[int]) -> str | None:
        if not isinstance(schema, Mapping) or id(schema) in done:
            return None
        above |= {id(schema)}
        targets = references(schema)
        for target in targets:
            if id(resolve(target)) in above:
                return target
            if (loop := loop_in(resolve(target), above)) is not None:
                return loop
        for inner in chain.from_iterable(_alternatives(schema, word) for word in _IN_PLACE):
            if (loop := loop_in(inner, above)) is not None:
                return loop
        done.add(id(schema))
        return None

    waiting = [root]  # data that looks like a schema does no harm
    while waiting:
        schema = waiting.pop()
        if (loop := loop_in(schema, frozenset())) is not None:
            return loop
        waiting += reversed([*_inside(schema)])
    return None


def _alternatives(schema: Schema, keyword: str) -> Iterable[object]:
    """The schemas under a keyword that apply to the same place."""
    value = schema.get(keyword)
    if isinstance(value, list) or (keyword == "dependentSchemas" and isinstance(value, Mapping)):
        return _inside(value)
    return [value]


def references(schema: Schema) -> list[str]:
    """The references of this schema itself."""
    return [target for word in REFERENCES if isinstance(target := schema.get(word), str)]


def without(schema: Schema, *keywords: str) -> Schema:
    """The schema less these keywords (and less then and else, if `if` is one of them)."""
    dropped = {*keywords, *(("then", "else") if "if" in keywords else ())}
    return {key: value for key, value in schema.items() if key not in dropped}


def choices(schema: Schema, keyword: str) -> list[object]:
    """The schemas of which a combinator asks for one."""
    if keyword == "if":
        return [schema.get("else", True), {"allOf": [schema["if"], schema.get("then", True)]}]
    return _list(schema[keyword])


def implied(schema: Schema) -> list[object]:
    """Schemas that hold as well: allOf, and what required properties bring with them."""
    dependent = chain(
        _table(schema.get("dependentSchemas")).items(), _table(schema.get("dependencies")).items()
    )
    needed = required(schema)
    return [
        *_list(schema.get("allOf")),
        *(inner for name, inner in dependent if name in needed and not isinstance(inner, list)),
    ]


def listed(schema: Schema) -> list[object] | None:
    """The values that `const` or `enum` names; None if there is neither."""
    if "const" in schema:
        return [schema["const"]]
    return _list(schema["enum"]) if "enum" in schema else None


def types(schemas: Schemas, *, guess: bool) -> list[str]:
    """The types that all admit: null first, else in the order first declared.

    Without any declaration, all; to guess is to take only those that the keywords hint at.
    """
    declared = [
        [str(kind) for kind in (kinds if isinstance(kinds, list) else [kinds])]
        for schema in schemas
        if (kinds := schema.get("type", schemas)) is not schemas
    ]
    if not declared:
        present = set(chain.from_iterable(schemas))
        hinted = [kind for kind, keywords in _HINTS.items() if present.intersection(keywords)]
        return hinted if guess and hinted else list(dict.fromkeys([*hinted, *_UNTYPED]))
    common = dict.fromkeys(
        kind for first in declared[0] if (kind := _common_type(first, declared[1:])) is not None
    )
    return sorted(common, key=lambda kind: kind != "null")


def _common_type(kind: str, others: Sequence[Sequence[str]]) -> str | None:
    """The type where this one meets all others: integer is within number."""
    if all(kind in other for other in others):
        return kind
    numeric = kind in _NUMERIC and all(_NUMERIC & {*other} for other in others)
    return "integer" if numeric else None


def largest(schemas: Schemas, keyword: str) -> int:
    """The largest value of a counting keyword, 0 without."""
    return int(max(numbers_under(schemas, keyword), default=0))


def contained(schemas: Schemas) -> tuple[list[object], int]:
    """The schemas of `contains`, and how many items must satisfy them."""
    containing = [schema for schema in schemas if "contains" in schema]
    counts = [schema.get("minContains", 1) for schema in containing]
    numbers = [int(count) if isinstance(count, int | float) else 1 for count in counts]
    return [schema["contains"] for schema in containing], max(numbers, default=0)


def prefix(schema: Schema) -> list[object]:
    """The schemas of the items that are described one by one."""
    return _list(schema.get("prefixItems", schema.get("items")))  # until 2019-09: items is a list


def item(schema: Schema, index: int) -> object:
    """The schema of the item at this place."""
    if index < len(prefix(schema)):
        return prefix(schema)[index]
    return schema.get("additionalItems" if isinstance(schema.get("items"), list) else "items", True)


def required(schema: Schema) -> list[str]:
    """Required names, with those that they require in turn."""
    names = [str(name) for name in _list(schema.get("required"))]
    for table in (_table(schema.get("dependentRequired")), _table(schema.get("dependencies"))):
        for name in names:
            names += [str(other) for other in _list(table.get(name)) if other not in names]
    return names


def properties(schema: Schema) -> Schema:
    """The declared properties."""
    return _table(schema.get("properties"))


def property_schemas(schemas: Schemas, name: str) -> list[object]:
    """What the schemas say of the property of this name."""
    applying: list[object] = []
    for schema in schemas:
        patterns = _table(schema.get("patternProperties")).items()
        own = [inner for pattern, inner in patterns if re.search(pattern, name)]
        own += [properties(schema)[name]] if name in properties(schema) else []
        applying += own or [schema.get("additionalProperties", True)]
    return applying


def name_lists(schemas: Schemas) -> Iterator[list[str]]:
    """Which properties to give: the required ones, filled up to the least number; then more."""
    must = list(dict.fromkeys(chain.from_iterable(map(required, schemas))))
    declared = list(dict.fromkeys(chain.from_iterable(map(properties, schemas))))
    optional = [name for name in declared if name not in must]
    spare = chain(optional, _made_up_names(schemas, {*must, *declared}))
    fewest = [*must, *islice(spare, max(0, largest(schemas, "minProperties") - len(must)))]
    more = [name for name in optional if name not in fewest]
    yield fewest
    yield from ([*fewest, name] for name in more)
    if len(more) > 1:
        yield [*fewest, *more]


def _made_up_names(schemas: Schemas, taken: set[str]) -> Iterator[str]:
    """Names for properties that must exist and that are not described one by one."""
    rules = [rule for schema in schemas if isinstance(rule := schema.get("propertyNames"), Mapping)]
    named = chain.from_iterable(listed(rule) or [] for rule in rules)
    patterns = chain.from_iterable(_table(schema.get("patternProperties")) for schema in schemas)
    matching = (text for pattern in patterns for text in islice(texts([{"pattern": pattern}]), 8))
    for name in chain(map(str, named), matching, texts([*rules, {"minLength": 1}])):
        if name not in taken:
            taken.add(name)
            yield name


@dataclass(frozen=True, slots=True)
class Bounds:
    """Numbers from `low` to `high`, each end with whether it is excluded, in steps of `step`."""

    low: tuple[Fraction, bool] | None
    high: tuple[Fraction, bool] | None
    step: Fraction | None

    @classmethod
    def of(cls, schemas: Schemas, *, integer: bool) -> Bounds:
        """The intersection of what all schemas say."""
        steps = [_exact(schema.get("multipleOf")) for schema in schemas]
        multiples = [step for step in steps if step is not None]
        return cls(
            max(_ends(schemas, "minimum", "exclusiveMinimum"), default=None),
            min(
                _ends(schemas, "maximum", "exclusiveMaximum"),
                key=lambda end: (end[0], not end[1]),
                default=None,
            ),
            _common_multiple([*multiples, *([Fraction(1)] if integer else [])]),
        )

    def numbers(self, limit: int = 64) -> Iterator[int | float]:
        """At most `limit` numbers within the bounds, the nearest to zero first."""
        for step in [self.step] if self.step else [Fraction(1), *self._finer_steps()]:
            none = True
            for value in self._multiples(step, limit):
                none = False
                yield _plain(value)
            if not none:
                return

    def _finer_steps(self) -> Iterator[Fraction]:
        """Steps that meet an interval which holds no whole number."""
        if self.low is None or self.high is None or self.low[0] > self.high[0]:
            return
        if self.low[0] == self.high[0]:
            yield self.low[0]
        else:
            yield from (Fraction(1, 10**power) for power in range(1, 18))

    def _multiples(self, step: Fraction, limit: int) -> Iterator[Fraction]:
        """Multiples of a step within the bounds, nearest to zero first."""
        start = Fraction(0)
        if self.low is not None and self.low[0] > 0:
            start = math.ceil(self.low[0] / step) * step
        elif self.high is not None and self.high[0] < 0:
            start = math.floor(self.high[0] / step) * step
        for k in range(limit):
            for value in (start + k * step, start - k * step)[: 2 if k else 1]:
                if self._admit(value):
                    yield value

    def _admit(self, value: Fraction) -> bool:
        low, high = self.low, self.high
        above = low is None or value > low[0] or (value == low[0] and not low[1])
        return above and (high is None or value < high[0] or (value == high[0] and not high[1]))

    def __str__(self) -> str:
        words = []
        if self.low is not None:
            words.append(f"{'>' if self.low[1] else '>='} {_plain(self.low[0])}")
        if self.high is not None:
            words.append(f"{'<' if self.high[1] else '<='} {_plain(self.high[0])}")
        if self.step not in (None, 1):
            words.append(f"a multiple of {_plain(self.step or Fraction(1))}")
        return " and ".join(words) or "without bounds"


def _exact(value: object) -> Fraction | None:
    """The number as it is written in decimal, None for what is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return Fraction(str(value)) if math.isfinite(value) else None


def _plain(value: Fraction) -> int | float:
    """An int where the number is whole, else the nearest float."""
    return value.numerator if value.denominator == 1 else float(value)


def _ends(schemas: Schemas, inclusive: str, exclusive: str) -> Iterator[tuple[Fraction, bool]]:
    """The ends that the schemas name, each with whether it is excluded."""
    for schema in schemas:
        end, beyond = _exact(schema.get(inclusive)), _exact(schema.get(exclusive))
        if end is not None:
            yield end, schema.get(exclusive) is True  # draft 4 wrote a boolean
        if beyond is not None:
            yield beyond, True


def _common_multiple(steps: Sequence[Fraction]) -> Fraction | None:
    """The least number that all steps divide, None without steps."""
    if not steps:
        return None
    denominator = math.lcm(*(step.denominator for step in steps))
    return Fraction(math.lcm(*(int(step * denominator) for step in steps)), denominator)
