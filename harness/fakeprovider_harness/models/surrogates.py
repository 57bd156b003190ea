"""Lone surrogates: half of a UTF-16 pair, which no UTF-8 body can carry.

They come from text cut in the middle of an emoji and from services that split a pair over two
chunks. One of them in a stored history makes every later request fail, so they are mended on the
way in and on the way out.
"""

from __future__ import annotations

import json
import re
from typing import Any

_ESCAPED = re.compile(r"\\u[dD][89a-fA-F]")


def mend(text: str) -> str:
    """Join the halves that fit, replace the others by U+FFFD; other text comes back as it is."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def mend_tree(value: Any) -> Any:
    """`mend` every string in JSON-like data, keys included."""
    if isinstance(value, str):
        return mend(value)
    if isinstance(value, dict):
        return {mend_tree(k): mend_tree(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [mend_tree(item) for item in value]
    return value


def mend_arguments(arguments: str) -> str:
    """`mend` JSON text, also where the surrogate is written as an escape; keeps sound text."""
    arguments = mend(arguments)
    if not _ESCAPED.search(arguments):
        return arguments
    try:
        value = json.loads(arguments)
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(mend_tree(value), ensure_ascii=False, separators=(",", ":"))
    except ValueError:
        return arguments  # not JSON: the loop will say so to the model
    return arguments
