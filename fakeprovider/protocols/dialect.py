"""Headers that the real services put on every reply: the request's id and the rate limits.

They say the same each time, but for the id, which follows from the request's bytes: a repeated
request gets the same reply to the last byte of its head. The limits are those of a quiet account.

A dialect is a module with these names; nothing else in the provider knows one from another.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple, Protocol, TypeAlias

from fakeprovider.completion import Completion
from fakeprovider.conversation import Conversation, Violation
from fakeprovider.errors import ApiError
from fakeprovider.parsing.caches import Memory

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


CREATED = 1_700_000_000
"""The time stamp of every reply, in Unix seconds: identical requests get identical bytes."""


class Frame(NamedTuple):
    """One event of a stream, as bytes, and how many output tokens it carries (for pacing)."""

    data: bytes
    tokens: int = 0


class Dialect(Protocol):
    """One wire protocol."""

    @property
    def NAME(self) -> str:
        """Its name in the journal and in the strict table."""

    @property
    def PATHS(self) -> tuple[str, ...]:
        """The paths it answers, below a base URL that ends in `/v1` or not."""

    def parse(self, body: bytes, memory: Memory, model: str = "") -> Conversation:
        """The conversation in a request body; raises `ApiError`.

        `model` is the path's, for a body that names none (Azure's deployments).
        """

    def refuse(self, violation: Violation) -> ApiError:
        """The error of the real service for a broken transcript, naming the message."""

    def render_whole(self, conversation: Conversation, completion: Completion) -> bytes:
        """The body of a reply that is not streamed."""

    def render_stream(self, conversation: Conversation, completion: Completion) -> Iterator[Frame]:
        """The events of a streamed reply, to the last."""

    def render_error(self, error: ApiError) -> bytes:
        """The body of an error reply."""

    def render_models(self, names: tuple[str, ...]) -> bytes:
        """The body of the list of models."""

    def render_model(self, name: str) -> bytes:
        """The body of one model."""
