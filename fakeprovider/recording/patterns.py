"""Regular expressions that scripts bring along: no search hangs the server."""

from __future__ import annotations

import regex

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
