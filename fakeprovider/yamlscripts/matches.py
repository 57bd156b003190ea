"""What conditions and expectations compare: numbers, texts and tool results.

Each has its shape in the file and, beside it, the test that is made of it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from fakeprovider.conversation import Result
from fakeprovider.recording.patterns import BadPattern, Pattern, SlowPattern
from fakeprovider.yamlscripts.shapes import (
    Fields,
    either,
    list_of,
    mapping,
    one_of,
    pattern,
    text,
    whole,
)

TextMatch: TypeAlias = Callable[[str], bool]
ResultMatch: TypeAlias = Callable[[Result | None], bool]

_ERROR = re.compile(r"\W*error\b", re.IGNORECASE)

TEXT = text()
WORDS = either(TEXT, list_of(TEXT))
TOOL = pattern("a tool's name (a-z, A-Z, 0-9, _ and -)", r"[a-zA-Z0-9_-]{1,128}")
TOOLS = either(TOOL, list_of(TOOL))


def bad_pattern(written: str) -> str:
    """What is wrong with a regular expression, "" for nothing."""
    try:
        Pattern(written)
    except BadPattern as error:
        return str(error)
    return ""


REGEX = text("a regular expression (Python's)", bad_pattern, format="regex")


def as_list(value: Any) -> list[Any]:
    """A list as it is; anything else as a list of one."""
    return value if isinstance(value, list) else [value]


def _empty_range(value: Mapping[str, Any]) -> str:
    least, most = value.get("at_least", 0), value.get("at_most", math.inf)
    return "" if least <= most else f"no number is at least {least} and at most {most}"


COUNT = either(
    whole(),
    list_of(whole()),
    mapping(
        "a range",
        {
            "at_least": (whole(), "The least number that counts."),
            "at_most": (whole(), "The greatest number that counts."),
        },
        least=("at_least", "at_most"),
        flaw=_empty_range,
    ),
)


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
        words = as_list(written["contains"])
        tests.append(lambda text: all(word in text for word in words))
    if "matches" in written:
        regex = Pattern(written["matches"])
        tests.append(lambda text: regex.search(text) is not None)
    if "equals" in written:
        whole_text = written["equals"]
        tests.append(lambda text: bool(text == whole_text))
    return lambda text: all(test(text) for test in tests)


def _contradiction(value: Mapping[str, Any]) -> str:
    """Where the whole text is given, what else is asked of it can be decided at once."""
    if "equals" not in value:
        return ""
    others = {key: value[key] for key in ("contains", "matches") if key in value}
    try:
        fits = text_match(others)(value["equals"])
    except SlowPattern as error:
        return str(error)
    return "" if fits else f"the text of 'equals' is not one for {' and '.join(map(repr, others))}"


_MATCHES: Fields = {
    "contains": (WORDS, "Text that must stand in it; of a list, each."),
    "matches": (REGEX, "A regular expression (Python's) that must be found in it."),
    "equals": (TEXT, "The whole of it."),
}
MATCHER = either(TEXT, mapping("a match", _MATCHES, least=tuple(_MATCHES), flaw=_contradiction))
_RESULT_MATCH: Fields = {
    **_MATCHES,
    "tool": (TOOL, "The tool that answered."),
    "outcome": (
        one_of("ok", "error"),
        "error: marked as an error, or its text begins with the word error.",
    ),
}
RESULT = either(
    one_of("any", "none"),
    mapping("a result", _RESULT_MATCH, least=tuple(_RESULT_MATCH), flaw=_contradiction),
)


def result_match(written: Any) -> ResultMatch:
    """`any`, `none`, or what the result must be."""
    if written == "any":
        return lambda result: result is not None
    if written == "none":
        return lambda result: result is None
    text_fits = text_match(written)
    tool, outcome = written.get("tool"), written.get("outcome")

    def test(result: Result | None) -> bool:
        return (
            result is not None
            and text_fits(result.text)
            and (tool is None or result.tool == tool)
            and (outcome is None or outcome == outcome_of(result))
        )

    return test


def outcome_of(result: Result) -> str:
    """`error` where the protocol says so or the text begins with that word, else `ok`."""
    return "error" if result.is_error or _ERROR.match(result.text) else "ok"
