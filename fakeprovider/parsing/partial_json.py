"""Reading a JSON object that was cut short: what it says for certain."""

from __future__ import annotations

import json
from typing import Any

_TRIES = 3


def complete_object(text: str) -> dict[str, Any] | None:
    """The object in `text`, or as much of it as stands complete where the text was cut.

    A string, number or key that the cut broke is left out, as the official SDKs' accumulators do.
    None if the text is not the start of a JSON object; nothing at all is an empty object.
    """
    if not text.strip():
        return {}
    for start in _starts(text):
        try:
            value = json.loads(start)
        except (ValueError, RecursionError):
            continue
        return value if isinstance(value, dict) else None
    return None


def _starts(text: str) -> list[str]:
    """The longest starts of `text` that may be complete once their brackets are closed."""
    open_brackets: list[str] = []
    cuts: list[str] = []
    in_string = escaped = False
    for position, char in enumerate(text):
        if in_string:
            in_string, escaped = escaped or char != '"', not escaped and char == "\\"
        elif char == '"':
            in_string = True
        elif char in "{[":
            open_brackets.append("}" if char == "{" else "]")
            cuts.append(text[: position + 1] + _closing(open_brackets))
        elif char in "}]":
            if not open_brackets:
                break
            open_brackets.pop()
        elif char == ",":
            cuts.append(text[:position] + _closing(open_brackets))
        del cuts[:-_TRIES]
    return [text + _closing(open_brackets), *reversed(cuts)]


def _closing(open_brackets: list[str]) -> str:
    return "".join(reversed(open_brackets))
