"""Digests that tell one call from another, whatever the spacing and key order of its JSON."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def canonical(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(*parts: Any) -> str:
    """A digest of JSON-like values: 32 hexadecimal digits."""
    return hashlib.sha256(canonical(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def of_text(text: str) -> str:
    """What tells one result from another: 32 hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def of_call(tool: str, arguments: dict[str, Any]) -> str:
    """What a decision or a cached result is bound to: the tool and its arguments."""
    return digest(tool, arguments)
