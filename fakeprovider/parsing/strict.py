"""What becomes of the flaws of a transcript: refused, noted, or accepted in silence.

A flaw is found while parsing or folding (`Violation.rule`). What is done about it is the dialect's:
each has a table of the rules that its service is known to enforce, with their sources. Where no
refusal is known, the transcript is accepted and a note is journaled.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

from fakeprovider.conversation import NOWHERE, Violation


def judge(
    flaws: Iterable[Violation], refused: Set[str], noted: Set[str]
) -> tuple[tuple[Violation, ...], tuple[Violation, ...]]:
    """What of `flaws` the dialect refuses, and what it accepts with a note, by their rules."""
    flaws = tuple(flaws)
    if not flaws:
        return (), ()
    return (
        tuple(flaw for flaw in flaws if flaw.rule in refused),
        tuple(flaw for flaw in flaws if flaw.rule in noted),
    )


def names_twice(names: Sequence[str]) -> tuple[Violation, ...]:
    """For the first name that two of the tools offered have."""
    if len(set(names)) == len(names):
        return ()
    twice = next(name for at, name in enumerate(names) if name in names[:at])
    return (Violation("tool_twice", NOWHERE, f"two tools have the name {twice!r}", "tools"),)
