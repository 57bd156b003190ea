"""What a list of schemas, all of which must hold, says about one place.

Reading several schemas side by side spares merging them: a bound is the tightest of all parts, a
property's schema is everything that any part says of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TypeAlias

from fakeprovider.fitting.arguments.texts import texts

Schema: TypeAlias = Mapping[str, object]
Parts: TypeAlias = Sequence[Schema]

COMBINATORS = ("anyOf", "oneOf", "if")

_HINTS: Mapping[str, tuple[str, ...]] = {
    "object": ("properties", "required", "additionalProperties", "minProperties"),
    "array": ("items", "prefixItems", "minItems", "contains", "uniqueItems"),
    "string": ("minLength", "maxLength", "pattern", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}
_UNTYPED = ("string", "number", "boolean", "object", "array", "null")
_NUMERIC = frozenset({"integer", "number"})


def without(schema: Schema, *keywords: str) -> Schema:
    """The schema less these keywords (and less then and else, if `if` is one of them)."""
    dropped = {*keywords, *(("then", "else") if "if" in keywords else ())}
    return {key: value for key, value in schema.items() if key not in dropped}


def choices(part: Schema, keyword: str) -> list[object]:
    """The schemas of which a combinator asks for one."""
    if keyword == "if":
        return [part.get("else", True), {"allOf": [part["if"], part.get("then", True)]}]
    return _list(part[keyword])


def implied(part: Schema) -> list[object]:
    """Schemas that hold as well: allOf, and what required properties bring with them."""
    return [
        *_list(part.get("allOf")),
        *(
            inner
            for keyword in ("dependentSchemas", "dependencies")
            for name, inner in _table(part.get(keyword)).items()
            if name in required(part) and not isinstance(inner, list)
        ),
    ]


def listed(part: Schema) -> list[object] | None:
    """The values that `const` or `enum` names; None if there is neither."""
    if "const" in part:
        return [part["const"]]
    return _list(part["enum"]) if "enum" in part else None


def types(parts: Parts, *, guess: bool) -> list[str]:
    """The types that every part admits: null first, else in the order first declared.

    Without any declaration, all; to guess is to take only those that the keywords hint at.
    """
    declared = [_declared(part) for part in parts if "type" in part]
    if not declared:
        hinted = [
            kind
            for kind, keywords in _HINTS.items()
            if any(keyword in part for part in parts for keyword in keywords)
        ]
        return hinted if guess and hinted else list(dict.fromkeys([*hinted, *_UNTYPED]))
    common = dict.fromkeys(
        met for kind in declared[0] if (met := _met(kind, declared[1:])) is not None
    )
    return sorted(common, key=lambda kind: kind != "null")


def whole(parts: Parts, keyword: str) -> int:
    """The largest value of a counting keyword, 0 without."""
    found = (value for part in parts if isinstance(value := part.get(keyword), int | float))
    return int(max(found, default=0))


def contained(parts: Parts) -> tuple[list[object], int]:
    """The schemas of `contains`, and how many items must satisfy them."""
    counts = [_at_least(part) for part in parts if "contains" in part]
    return [part["contains"] for part in parts if "contains" in part], max(counts, default=0)


def prefix_length(parts: Parts) -> int:
    """How many items are described one by one."""
    return max(len(_prefix(part)) for part in parts)


def items_at(parts: Parts, index: int) -> list[object]:
    """What the parts say of the item at this place."""
    return [_item_at(part, index) for part in parts]


def properties(part: Schema) -> Schema:
    """The declared properties."""
    return _table(part.get("properties"))


def required(part: Schema) -> list[str]:
    """Required names, with those that they require in turn."""
    names = [str(name) for name in _list(part.get("required"))]
    for table in (_table(part.get("dependentRequired")), _table(part.get("dependencies"))):
        for name in names:
            names += [str(one) for one in _list(table.get(name)) if one not in names]
    return names


def property_schemas(parts: Parts, name: str) -> list[object]:
    """What the parts say of the property of this name."""
    found: list[object] = []
    for part in parts:
        own = [
            inner
            for pattern, inner in _table(part.get("patternProperties")).items()
            if re.search(pattern, name)
        ]
        own += [properties(part)[name]] if name in properties(part) else []
        found += own or [part.get("additionalProperties", True)]
    return found


def made_up_names(parts: Parts, taken: Iterable[str]) -> Iterator[str]:
    """Names for properties that must exist and that are not described one by one."""
    seen = {*taken}
    rules = [one for part in parts if isinstance(one := part.get("propertyNames"), Mapping)]
    named = chain.from_iterable(listed(rule) or [] for rule in rules)
    patterns = chain.from_iterable(_table(part.get("patternProperties")) for part in parts)
    matching = (text for one in patterns for text in islice(texts([{"pattern": one}]), 8))
    for name in chain(map(str, named), matching, texts([*rules, {"minLength": 1}])):
        if name not in seen:
            seen.add(name)
            yield name


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _table(value: object) -> Schema:
    return value if isinstance(value, Mapping) else {}


def _declared(part: Schema) -> list[str]:
    kinds = part["type"]
    return [str(kind) for kind in kinds] if isinstance(kinds, list) else [str(kinds)]


def _met(kind: str, others: Sequence[Sequence[str]]) -> str | None:
    """The type where this one meets all others: integer is within number."""
    if all(kind in other for other in others):
        return kind
    numeric = kind in _NUMERIC and all(_NUMERIC & {*other} for other in others)
    return "integer" if numeric else None


def _at_least(part: Schema) -> int:
    least = part.get("minContains", 1)
    return int(least) if isinstance(least, int | float) else 1


def _prefix(part: Schema) -> list[object]:
    return _list(part.get("prefixItems", part.get("items")))  # until 2019-09: items is a list


def _item_at(part: Schema, index: int) -> object:
    prefix = _prefix(part)
    if index < len(prefix):
        return prefix[index]
    rest = "additionalItems" if isinstance(part.get("items"), list) else "items"
    return part.get(rest, True)
