"""Words that a model is told to say when it is done, and how they are told from talk about them."""

from __future__ import annotations

import re

_FENCE = re.compile(r"^(```|~~~).*?(?:^\1|\Z)", re.M | re.S)


def has_marker(text: str, marker: str) -> bool:
    """Whether `text` says `marker` as a whole line, as `<marker>…</marker>` or as `<x>marker</x>`.

    Space around it does not matter. Quoted lines (`>`), fenced code and sentences that mention it
    do not count.
    """
    lines = [line.strip() for line in _FENCE.sub("", text).splitlines()]
    said = re.escape(marker.strip())
    line = re.compile(rf"{said}|<(\w[\w-]*)>\s*{said}\s*</\1>|<{said}>.*</{said}>")
    return any(line.fullmatch(each) for each in lines)
