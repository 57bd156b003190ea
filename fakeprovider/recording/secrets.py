"""Secrets, as far as they can be told from other text: they are not written to files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

REMOVED = "[secret]"
"""What stands in a secret's place."""

_SHAPES = re.compile(
    r"""
    \b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}              # model services, payment services
    | \bsk-ant-[A-Za-z0-9_-]{16,}
    | \bgh[pousr]_[A-Za-z0-9]{20,} | \bgithub_pat_[A-Za-z0-9_]{20,}
    | \bglpat-[A-Za-z0-9_-]{16,}
    | \bxox[abeoprs]-[A-Za-z0-9-]{10,}
    | \b(?:AKIA|ASIA)[A-Z0-9]{16}\b
    | \bAIza[A-Za-z0-9_-]{30,}
    | \bhf_[A-Za-z0-9]{20,} | \bnpm_[A-Za-z0-9]{30,}
    | \beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}   # JSON web tokens
    | (?<=[Bb]earer\s)[A-Za-z0-9._~+/-]{16,}=*
    | -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----.*?-----END\ [A-Z ]*PRIVATE\ KEY-----
    """,
    re.VERBOSE | re.DOTALL,
)


def without_secrets(value: Any, known: Iterable[str] = ()) -> Any:
    """The JSON value with secrets replaced in its texts: `known` ones, and what looks like one."""
    if isinstance(value, str):
        for secret in known:
            value = value.replace(secret, REMOVED) if secret else value
        return _SHAPES.sub(REMOVED, value)
    if isinstance(value, dict):
        return {key: without_secrets(inner, known) for key, inner in value.items()}
    if isinstance(value, list):
        return [without_secrets(inner, known) for inner in value]
    return value
