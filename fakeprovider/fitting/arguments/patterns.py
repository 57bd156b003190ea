"""Short strings that match a regular expression."""

from __future__ import annotations

import importlib
import re
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

# The interpreter's own parser: another would differ from the one that validates.
_parser = importlib.import_module("re._parser")

_POOL = string.ascii_lowercase + string.digits + string.ascii_uppercase + string.punctuation + " "
_VARIANTS = 8
_CATEGORIES: dict[str, Callable[[str], bool]] = {
    "CATEGORY_DIGIT": str.isdigit,
    "CATEGORY_SPACE": str.isspace,
    "CATEGORY_WORD": lambda character: character.isalnum() or character == "_",
}


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
    for variant in range(_VARIANTS):
        base = _Builder(variant)
        shortest = base.sequence(tree)
        gap = max(0, at_least - len(shortest))
        for which in (*range(min(base.repeats, 8)), None) if base.repeats else (None,):
            for amount in _amounts(gap):
                builder = _Builder(variant, which, amount)
                text = builder.sequence(tree)
                yield text
                yield from builder.with_demands(text)
        filling = _POOL[variant] * max(gap, 1)
        yield from (shortest + filling, filling + shortest)


def _amounts(gap: int) -> list[int]:
    near = range(max(0, gap - 2), gap + 2)
    shared = (-(-gap // unit) for unit in range(2, 9))
    return list(dict.fromkeys([*range(9), *near, *shared]))


@dataclass
class _Builder:
    """One walk over the parsed pattern: always the same choices for the same numbers.

    variant: rotates the choice among alternatives and characters. which: the repetition that is
    done `amount` times more than it must (None: all of them).
    """

    variant: int
    which: int | None = None
    amount: int = 0
    repeats: int = 0
    groups: dict[int, str] = field(default_factory=dict)
    demands: list[str] = field(default_factory=list)

    def sequence(self, tree: Any) -> str:
        return "".join(self.node(str(op), value) for op, value in tree)

    def with_demands(self, text: str) -> Iterator[str]:
        """What look-aheads ask for, laid over the beginning of the text."""
        if self.demands:
            demanded = "".join(self.demands)
            yield demanded + text[len(demanded) :]
            yield demanded + text

    def node(self, op: str, value: Any) -> str:
        match op:
            case "LITERAL":
                return chr(value)
            case "NOT_LITERAL":
                return self.character(lambda one: ord(one) != value)
            case "ANY":
                return self.character(lambda one: one != "\n")
            case "IN":
                return self.member(value)
            case "BRANCH":
                return self.sequence(value[1][self.variant % len(value[1])])
            case "SUBPATTERN":
                return self.group(value[0], value[-1])
            case "ATOMIC_GROUP":
                return self.sequence(value)
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                return self.repeat(*value)
            case "GROUPREF":
                return self.groups.get(value, "")
            case "ASSERT" if value[0] > 0:
                self.demands.append(self.sequence(value[1]))
        return ""  # anchors take no room; negative assertions are left to the check

    def group(self, number: int | None, tree: Any) -> str:
        text = self.sequence(tree)
        if number is not None:
            self.groups[number] = text
        return text

    def repeat(self, least: int, most: Any, tree: Any) -> str:
        mine, self.repeats = self.repeats, self.repeats + 1
        more = self.amount if self.which in (None, mine) else 0
        return self.sequence(tree) * min(int(most), least + more)

    def member(self, items: list[tuple[Any, Any]]) -> str:
        negated = str(items[0][0]) == "NEGATE"
        rest = items[1:] if negated else items
        own = "" if negated else "".join(_first_of(str(op), value) for op, value in rest)
        return self.character(
            lambda one: negated != any(_accepts(str(op), value, one) for op, value in rest), own
        )

    def character(self, accepts: Callable[[str], bool], extra: str = "") -> str:
        fitting = [one for one in _POOL + extra if accepts(one)]
        return fitting[self.variant % len(fitting)] if fitting else ""


def _first_of(op: str, value: Any) -> str:
    """A member that the pool may not have."""
    match op:
        case "LITERAL":
            return chr(value)
        case "RANGE":
            return chr(value[0])
    return "\t" if str(value) == "CATEGORY_SPACE" else ""


def _accepts(op: str, value: Any, one: str) -> bool:
    match op:
        case "LITERAL":
            return ord(one) == int(value)
        case "RANGE":
            return bool(value[0] <= ord(one) <= value[1])
        case "CATEGORY":
            name = str(value)
            return _CATEGORIES[name.replace("_NOT_", "_")](one) != ("_NOT_" in name)
    return False
