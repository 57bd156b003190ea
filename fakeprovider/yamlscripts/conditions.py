"""Conditions of YAML scripts.

`@condition` registers a condition once: its name, what may stand after it, what it says in the
docs and the JSON Schema, and the predicate of a conversation that it becomes. Where it says
something about numbers of turns, about results or about other conditions, it also says what it
comes to in a `Situation`, so that what can never hold is refused when the file is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from fakeprovider.conversation import Conversation
from fakeprovider.registry import Registry
from fakeprovider.yamlscripts.matches import (
    COUNT,
    MATCHER,
    RESULT,
    TOOLS,
    WORDS,
    as_list,
    count_match,
    result_match,
    text_match,
)
from fakeprovider.yamlscripts.shapes import Shape, list_of, mapping, named

Predicate: TypeAlias = Callable[[Conversation], bool]
Compile: TypeAlias = Callable[[Any], Predicate]
"""From what stands in the file to a predicate."""

Verdict: TypeAlias = bool | None
"""None: it depends on what the script cannot know."""


@dataclass(frozen=True, slots=True)
class Situation:
    """The part of a conversation that conditions can be decided by."""

    turn: int
    since_last_user: int
    has_result: bool


Decide: TypeAlias = Callable[[Any, Situation], Verdict]
"""What the condition, as it stands in the file, comes to in a situation."""


def _depends(written: Any, now: Situation) -> Verdict:
    return None


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """One kind of condition.

    shape: what may stand after its name. about: what it says, in a line. counts: the number of a
    `Situation` that it compares. nests: whether it holds other conditions.
    """

    shape: Shape
    about: str
    compile: Compile
    decide: Decide = _depends
    counts: str = ""
    nests: bool = False


CONDITIONS: Registry[Condition] = Registry("condition")
"""All conditions by name."""


def condition(
    name: str,
    shape: Shape,
    about: str,
    *,
    decide: Decide = _depends,
    counts: str = "",
    nests: bool = False,
) -> Callable[[Compile], Compile]:
    """Decorator: register the function as the condition `name`."""

    def register(compile: Compile) -> Compile:
        CONDITIONS.add(name, Condition(shape, about, compile, decide, counts, nests))
        return compile

    return register


def condition_shape() -> Shape:
    """A mapping of conditions, all of which must hold."""
    return _shape_of(tuple(CONDITIONS.items()))


@lru_cache(maxsize=4)
def _shape_of(conditions: tuple[tuple[str, Condition], ...]) -> Shape:
    fields = {name: (kind.shape, kind.about) for name, kind in conditions}
    return mapping("a condition", fields, least=tuple(fields))


CONDITION = named("condition", condition_shape)


def predicate(written: Mapping[str, Any]) -> Predicate:
    """All that is written must hold."""
    return _every([CONDITIONS[name].compile(value) for name, value in written.items()])


def _every(parts: list[Predicate]) -> Predicate:
    return lambda conversation: all(part(conversation) for part in parts)


def verdict(written: Mapping[str, Any], now: Situation) -> Verdict:
    """What all that is written comes to in a situation."""
    return _and(CONDITIONS[name].decide(value, now) for name, value in written.items())


def _and(parts: Iterable[Verdict]) -> Verdict:
    verdicts = set(parts)
    return False if False in verdicts else None if None in verdicts else True


def _not(part: Verdict) -> Verdict:
    return None if part is None else not part


def numbers_compared(written: Any, count: str) -> set[int]:
    """The numbers that a condition compares a count with."""
    numbers: set[int] = set()
    for part in as_list(written):
        for name, value in part.items():
            if CONDITIONS[name].counts == count:
                numbers |= set(_integers(value))
            elif CONDITIONS[name].nests:
                numbers |= numbers_compared(value, count)
    return numbers


def _integers(written: Any) -> Iterator[int]:
    yield from written.values() if isinstance(written, dict) else as_list(written)


@condition(
    "turn",
    COUNT,
    "The turn, from 0: a number, one of several, or a range.",
    decide=lambda written, now: count_match(written)(now.turn),
    counts="turn",
)
def _turn(written: Any) -> Predicate:
    match = count_match(written)
    return lambda conversation: match(conversation.turn)


@condition(
    "since_last_user",
    COUNT,
    "Turns since the user last spoke.",
    decide=lambda written, now: count_match(written)(now.since_last_user),
    counts="since_last_user",
)
def _since_last_user(written: Any) -> Predicate:
    match = count_match(written)
    return lambda conversation: match(conversation.since_last_user)


def _decide_result(written: Any, now: Situation) -> Verdict:
    if written in ("any", "none"):
        return now.has_result is (written == "any")
    return None if now.has_result else False


@condition(
    "last_result", RESULT, "The last tool result since the last turn.", decide=_decide_result
)
def _last_result(written: Any) -> Predicate:
    match = result_match(written)
    return lambda conversation: match(conversation.last_result)


@condition("any_result", RESULT, "Any tool result since the last turn.", decide=_decide_result)
def _any_result(written: Any) -> Predicate:
    match = result_match(written)
    if written == "none":
        return lambda conversation: not conversation.results
    return lambda conversation: any(map(match, conversation.results))


@condition("user", MATCHER, "The last thing the user said.")
def _user(written: Any) -> Predicate:
    match = text_match(written)
    return lambda conversation: match((conversation.user_messages or ("",))[-1])


@condition("system", MATCHER, "The system prompt.")
def _system(written: Any) -> Predicate:
    match = text_match(written)
    return lambda conversation: match(conversation.system_text)


@condition("seen", WORDS, "Text that stands in any message; of a list, each.")
def _seen(written: Any) -> Predicate:
    words = as_list(written)
    return lambda conversation: all(map(conversation.seen, words))


@condition("offers", TOOLS, "A tool that the client offers; of a list, each.")
def _offers(written: Any) -> Predicate:
    names = as_list(written)
    return lambda conversation: all(map(conversation.offers, names))


@condition(
    "all",
    list_of(CONDITION),
    "All of these conditions.",
    decide=lambda written, now: _and(verdict(part, now) for part in written),
    nests=True,
)
def _all_of(written: Any) -> Predicate:
    return _every([predicate(part) for part in written])


@condition(
    "any",
    list_of(CONDITION),
    "At least one of these conditions.",
    decide=lambda written, now: _not(_and(_not(verdict(part, now)) for part in written)),
    nests=True,
)
def _any_of(written: Any) -> Predicate:
    parts = [predicate(part) for part in written]
    return lambda conversation: any(part(conversation) for part in parts)


@condition(
    "not",
    CONDITION,
    "Not this condition.",
    decide=lambda written, now: _not(verdict(written, now)),
    nests=True,
)
def _not_this(written: Any) -> Predicate:
    part = predicate(written)
    return lambda conversation: not part(conversation)
