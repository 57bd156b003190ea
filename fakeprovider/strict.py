"""What the real services refuse in a transcript: one table for all dialects.

A rule is found while parsing or folding (`Violation.rule`); this table says what each dialect does
about it. Each refusal has its source: documentation, or a public report of the live service. Where
none is known the transcript is accepted and a note is journaled.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fakeprovider.conversation import Violation


@dataclass(frozen=True, slots=True)
class Rule:
    """What is done about one flaw: dialects that refuse it, and dialects that note it."""

    refused_by: frozenset[str]
    noted_by: frozenset[str] = frozenset()


def _refused(*dialects: str) -> Rule:
    return Rule(frozenset(dialects))


def _noted(*dialects: str) -> Rule:
    return Rule(frozenset(), frozenset(dialects))


RULES: dict[str, Rule] = {
    "unanswered_call": _refused("chat"),
    "orphan_result": _refused("chat"),
    "second_result": _refused("chat"),
    "twice_in_turn": _refused("chat"),
    "null_content": _refused("chat"),
    "empty_tool_calls": _refused("chat"),
    "call_id_too_long": _refused("chat"),
    "tool_name": _refused("chat"),
    "id_again": _refused(),
    "not_offered": _noted("chat"),
    "arguments_not_json": _noted("chat"),
}


def judge(
    flaws: Iterable[Violation], dialect: str
) -> tuple[tuple[Violation, ...], tuple[Violation, ...]]:
    """What of `flaws` the dialect refuses, and what it accepts with a note."""
    flaws = tuple(flaws)
    refused = tuple(flaw for flaw in flaws if dialect in RULES[flaw.rule].refused_by)
    noted = tuple(flaw for flaw in flaws if dialect in RULES[flaw.rule].noted_by)
    return refused, noted
