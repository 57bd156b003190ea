"""Short strings of a length, a pattern and a format."""

from __future__ import annotations

import datetime
import importlib
import re
import string
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# The interpreter's own parser: another would differ from the one that validates.
_parser = importlib.import_module("re._parser")

Schemas = Sequence[Mapping[str, object]]

_POOL = string.ascii_lowercase + string.digits + string.ascii_uppercase + string.punctuation + " "
_VARIANTS = 8
_EXAMPLES = 64  # of each format


def _day(k: int) -> str:
    return (datetime.date(2000, 1, 1) + datetime.timedelta(days=k)).isoformat()


def _name(k: int, padding: int) -> str:
    """The k-th of a, b, ..., z, a1, b1, ..., after so many letters."""
    return "a" * padding + string.ascii_lowercase[k % 26] + (str(k // 26) if k >= 26 else "")


_COUNTED: Mapping[str, Callable[[int], str]] = {
    "date": _day,
    "date-time": lambda k: f"{_day(k)}T00:00:00Z",
    "time": lambda k: f"00:{k // 60 % 60:02}:{k % 60:02}Z",
    "duration": lambda k: f"P{k}D",
    "ipv4": lambda k: f"127.0.{k // 256}.{k % 256}",
    "ipv6": lambda k: f"::{k + 1:x}",
    "uuid": lambda k: str(uuid.UUID(int=k)),
}
_NAMED: Mapping[str, str] = {
    "email": "{}@example.com",
    "idn-email": "{}@example.com",
    "hostname": "{}.example",
    "idn-hostname": "{}.example",
    "uri": "http://example.com/{}",
    "url": "http://example.com/{}",
    "iri": "http://example.com/{}",
    "uri-reference": "/{}",
    "iri-reference": "/{}",
    "uri-template": "/{}",
    "json-pointer": "/{}",
    "regex": "{}",
}
"""The formats of JSON Schema 2020-12, section 7.3, and `url`, which some generators write.

Addresses are reserved ones (RFC 2606, loopback). Those of names can be made longer.
"""


def _example(format: str, k: int, padding: int = 0) -> str | None:
    """The k-th example of a format, longer by so many characters where it can be."""
    if format in _NAMED:
        return _NAMED[format].format(_name(k, padding))
    if format == "relative-json-pointer":
        return f"{k}/{'a' * padding}"
    return _COUNTED[format](k) if format in _COUNTED else None


def texts(schemas: Schemas) -> Iterator[str]:
    """Strings that fit the lengths, patterns and known formats of all schemas, short ones first.

    Raises re.error for a pattern that this interpreter cannot compile.
    """
    least, most = lengths(schemas)
    patterns = [text for schema in schemas if isinstance(text := schema.get("pattern"), str)]
    formats = [name for schema in schemas if isinstance(name := schema.get("format"), str)]
    formats = [name for name in formats if _example(name, 0) is not None]
    for text in _proposals(least, most, patterns, formats):
        if least <= len(text) <= most and all(re.search(pattern, text) for pattern in patterns):
            yield text


def lengths(schemas: Schemas) -> tuple[int, float]:
    """The least and the most characters that all schemas admit."""
    least, most = numbers_under(schemas, "minLength"), numbers_under(schemas, "maxLength")
    return int(max(least, default=0)), min(most, default=float("inf"))


def numbers_under(schemas: Schemas, keyword: str) -> list[int | float]:
    """What the schemas have under a keyword that takes a number."""
    values = (schema.get(keyword) for schema in schemas)
    return [value for value in values if isinstance(value, int | float)]


def _proposals(
    least: int, most: float, patterns: Sequence[str], formats: Sequence[str]
) -> Iterator[str]:
    """Texts that may fit, short ones first; the caller checks them."""
    for name in formats:
        for k in range(_EXAMPLES):
            example = _example(name, k) or ""
            yield example
            yield _example(name, k, max(0, least - len(example))) or ""
    for pattern in patterns:
        yield from matching(pattern, least)
    if not patterns and not formats:
        if least == 0:
            yield ""
        if most >= max(least, 1):
            for k in range(1000):
                yield _name(k, max(0, least - len(_name(k, 0))))


def matching(pattern: str, at_least: int = 0) -> Iterator[str]:
    """Strings in which `pattern` is found, short ones first, some of at least so many characters.

    Each is checked against the pattern; there may be none (a look-behind, say, is not solved).
    Raises re.error for a pattern that this interpreter cannot compile.
    """
    compiled, tree = re.compile(pattern), _parser.parse(pattern)
    seen: set[str] = set()
    for candidate in _candidates(tree, at_least):
        if candidate not in seen and compiled.search(candidate):
            seen.add(candidate)
            yield candidate


def _candidates(tree: Any, at_least: int) -> Iterator[str]:
    """Walks over the pattern in which each repetition in turn, or all of them, are done longer."""
    for variant in range(_VARIANTS):
        shortest_walk = _Walk(variant)
        shortest = shortest_walk.sequence(tree)
        gap = max(0, at_least - len(shortest))
        lengthened = (*range(min(shortest_walk.repeats, 8)), None)
        for which in lengthened if shortest_walk.repeats else (None,):
            for amount in _amounts(gap):
                walk = _Walk(variant, which, amount)
                text = walk.sequence(tree)
                yield text
                if walk.demands:  # what look-aheads ask for, laid over the beginning of the text
                    demanded = "".join(walk.demands)
                    yield demanded + text[len(demanded) :]
                    yield demanded + text
        filling = _POOL[variant] * max(gap, 1)
        yield from (shortest + filling, filling + shortest)


def _amounts(gap: int) -> list[int]:
    """How much longer to make repetitions so that so many characters come about."""
    near = range(max(0, gap - 2), gap + 2)
    shared = (-(-gap // unit) for unit in range(2, 9))
    return list(dict.fromkeys([*range(9), *near, *shared]))


@dataclass
class _Walk:
    """One walk over the parsed pattern: always the same choices for the same numbers.

    variant: rotates the choice among alternatives and characters. which: the repetition that is
    done `amount` times more than it must (None: all of them).
    """

    variant: int
    which: int | None = None
    amount: int = 0
    repeats: int = 0
    groups: dict[int | None, str] = field(default_factory=dict)
    demands: list[str] = field(default_factory=list)

    def sequence(self, tree: Any) -> str:
        return "".join(self.node(str(op), value) for op, value in tree)

    def node(self, op: str, value: Any) -> str:
        """A text for one node of the parsed pattern."""
        match op:
            case "LITERAL":
                return chr(value)
            case "NOT_LITERAL":
                return self.character(lambda character: ord(character) != value)
            case "ANY":
                return self.character(lambda character: character != "\n")
            case "IN":
                return self.member(value)
            case "BRANCH":
                return self.sequence(value[1][self.variant % len(value[1])])
            case "SUBPATTERN":
                text = self.groups[value[0]] = self.sequence(value[-1])
                return text
            case "ATOMIC_GROUP":
                return self.sequence(value)
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                return self.repeat(*value)
            case "GROUPREF":
                return self.groups.get(value, "")
            case "ASSERT" if value[0] > 0:
                self.demands.append(self.sequence(value[1]))
        return ""  # anchors take no room; negative assertions are left to the check

    def repeat(self, least: int, most: Any, tree: Any) -> str:
        place, self.repeats = self.repeats, self.repeats + 1
        more = self.amount if self.which in (None, place) else 0
        return self.sequence(tree) * min(int(most), least + more)

    def member(self, items: list[tuple[Any, Any]]) -> str:
        """A character of a set such as [a-z_]."""
        negated = str(items[0][0]) == "NEGATE"
        rest = [(str(op), value) for op, value in (items[1:] if negated else items)]
        own = "" if negated else "".join(_first_of(op, value) for op, value in rest)
        return self.character(
            lambda character: negated != any(_accepts(op, value, character) for op, value in rest),
            own,
        )

    def character(self, accepts: Callable[[str], bool], extra: str = "") -> str:
        fitting = [character for character in _POOL + extra if accepts(character)]
        return fitting[self.variant % len(fitting)] if fitting else ""


def _first_of(op: str, value: Any) -> str:
    """A member that the pool may not have."""
    if op in ("LITERAL", "RANGE"):
        return chr(value if op == "LITERAL" else value[0])
    return "\t" if str(value) == "CATEGORY_SPACE" else ""


_CATEGORIES: Mapping[str, Callable[[str], bool]] = {
    "CATEGORY_DIGIT": str.isdigit,
    "CATEGORY_SPACE": str.isspace,
    "CATEGORY_WORD": lambda character: character.isalnum() or character == "_",
}


def _accepts(op: str, value: Any, character: str) -> bool:
    """Whether one part of a character set has the character."""
    match op:
        case "LITERAL":
            return ord(character) == int(value)
        case "RANGE":
            return bool(value[0] <= ord(character) <= value[1])
        case "CATEGORY":
            name = str(value)
            return _CATEGORIES[name.replace("_NOT_", "_")](character) != ("_NOT_" in name)
    return False
