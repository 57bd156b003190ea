"""Conditions of YAML scripts: from what stands in the file to a predicate of a conversation."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import regex

from fakeprovider.conversation import Conversation, Result

Condition: TypeAlias = Callable[[Conversation], bool]
TextMatch: TypeAlias = Callable[[str], bool]
ResultMatch: TypeAlias = Callable[[Result | None], bool]

_ERROR = re.compile(r"\W*error\b", re.IGNORECASE)


def condition(written: Mapping[str, Any]) -> Condition:
    """All that is written must hold."""
    parts = [_COMPILE[name](value) for name, value in written.items()]
    return lambda conversation: all(part(conversation) for part in parts)


def count_match(written: Any) -> Callable[[int], bool]:
    """A number, one of several, or a range."""
    if isinstance(written, int):
        return lambda number: number == written
    if isinstance(written, list):
        return lambda number: number in written
    least, most = written.get("at_least", 0), written.get("at_most")
    return lambda number: number >= least and (most is None or number <= most)


def text_match(written: Any) -> TextMatch:
    """Text to contain, or contains, matches and equals, all of which must hold."""
    if isinstance(written, str):
        return lambda text: written in text
    tests: list[TextMatch] = []
    if "contains" in written:
        words = _list(written["contains"])
        tests.append(lambda text: all(word in text for word in words))
    if "matches" in written:
        pattern = Pattern(written["matches"])
        tests.append(lambda text: pattern.search(text) is not None)
    if "equals" in written:
        whole = written["equals"]
        tests.append(lambda text: bool(text == whole))
    return lambda text: all(test(text) for test in tests)


def result_match(written: Any) -> ResultMatch:
    """`any`, `none`, or what the result must be."""
    if written == "any":
        return lambda result: result is not None
    if written == "none":
        return lambda result: result is None
    text = text_match(written)
    tool, outcome = written.get("tool"), written.get("outcome")

    def test(result: Result | None) -> bool:
        return (
            result is not None
            and text(result.text)
            and (tool is None or result.tool == tool)
            and (outcome is None or outcome == outcome_of(result))
        )

    return test


def outcome_of(result: Result) -> str:
    """`error` where the protocol says so or the text begins with that word, else `ok`."""
    return "error" if result.is_error or _ERROR.match(result.text) else "ok"


def _list(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value]


def _last_user(written: Any) -> Condition:
    match = text_match(written)
    return lambda conversation: match((conversation.user_messages or ("",))[-1])


def _any_result(written: Any) -> Condition:
    match = result_match(written)
    if written == "none":
        return lambda conversation: not conversation.results
    return lambda conversation: any(map(match, conversation.results))


def _counted(count: Callable[[Conversation], int]) -> Callable[[Any], Condition]:
    def compiled(written: Any) -> Condition:
        match = count_match(written)
        return lambda conversation: match(count(conversation))

    return compiled


def _last_result(written: Any) -> Condition:
    match = result_match(written)
    return lambda conversation: match(conversation.last_result)


def _system(written: Any) -> Condition:
    match = text_match(written)
    return lambda conversation: match(conversation.system_text)


def _seen(written: Any) -> Condition:
    words = _list(written)
    return lambda conversation: all(map(conversation.seen, words))


def _offers(written: Any) -> Condition:
    names = _list(written)
    return lambda conversation: all(map(conversation.offers, names))


def _all(written: Any) -> Condition:
    parts = [condition(one) for one in written]
    return lambda conversation: all(part(conversation) for part in parts)


def _any(written: Any) -> Condition:
    parts = [condition(one) for one in written]
    return lambda conversation: any(part(conversation) for part in parts)


def _not(written: Any) -> Condition:
    part = condition(written)
    return lambda conversation: not part(conversation)


_COMPILE: Mapping[str, Callable[[Any], Condition]] = {
    "turn": _counted(lambda conversation: conversation.turn),
    "since_last_user": _counted(lambda conversation: conversation.since_last_user),
    "last_result": _last_result,
    "any_result": _any_result,
    "user": _last_user,
    "system": _system,
    "seen": _seen,
    "offers": _offers,
    "all": _all,
    "any": _any,
    "not": _not,
}


SECONDS = 0.1
"""Time that one search may take: a fair pattern needs a thousandth of it."""

BadPattern = regex.error


class SlowPattern(ValueError):
    """A pattern that took too long: it backtracks, as `^(a|aa)+$` does."""


class Pattern:
    """A compiled pattern; raises `BadPattern` for one that cannot be compiled."""

    def __init__(self, written: str) -> None:
        self._compiled = regex.compile(written)

    def search(self, text: str) -> regex.Match[str] | None:
        """Its first match, if any. Raises `SlowPattern`."""
        try:
            return self._compiled.search(text, timeout=SECONDS)
        except TimeoutError:
            raise self._too_slow(text) from None

    def replace(self, text: str, by: str) -> str:
        """The text with `by`, as it is, in place of each match. Raises `SlowPattern`."""
        try:
            return self._compiled.sub(lambda match: by, text, timeout=SECONDS)
        except TimeoutError:
            raise self._too_slow(text) from None

    def _too_slow(self, text: str) -> SlowPattern:
        return SlowPattern(
            f"the pattern {self._compiled.pattern!r} took more than {SECONDS:g} s on a text of "
            f"{len(text)} characters: it backtracks, so avoid repeats within repeats"
        )
