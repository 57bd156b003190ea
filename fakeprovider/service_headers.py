"""Headers that the real services put on every reply: the request's id and the rate limits.

They say the same each time, but for the id, which follows from the request's bytes: a repeated
request gets the same reply to the last byte of its head. The limits are those of a quiet account.
"""

from __future__ import annotations

from typing import Final, TypeAlias

Headers: TypeAlias = tuple[tuple[str, str], ...]

_RESET = "2023-11-14T22:13:20Z"  # the time stamp of every reply

_OPENAI: Final[Headers] = (
    ("openai-version", "2020-10-01"),
    ("x-ratelimit-limit-requests", "10000"),
    ("x-ratelimit-limit-tokens", "2000000"),
    ("x-ratelimit-remaining-requests", "9999"),
    ("x-ratelimit-remaining-tokens", "1999999"),
    ("x-ratelimit-reset-requests", "6ms"),
    ("x-ratelimit-reset-tokens", "0s"),
)
_ANTHROPIC: Final[Headers] = (
    ("anthropic-ratelimit-requests-limit", "4000"),
    ("anthropic-ratelimit-requests-remaining", "3999"),
    ("anthropic-ratelimit-requests-reset", _RESET),
    ("anthropic-ratelimit-tokens-limit", "2000000"),
    ("anthropic-ratelimit-tokens-remaining", "1999000"),
    ("anthropic-ratelimit-tokens-reset", _RESET),
)


def service_headers(dialect: str, request_id: str) -> Headers:
    """The headers of a reply in a dialect; all of them tell the id as `x-request-id` too."""
    if dialect == "messages":
        return (("request-id", request_id), ("x-request-id", request_id), *_ANTHROPIC)
    return (("x-request-id", request_id), *_OPENAI)
