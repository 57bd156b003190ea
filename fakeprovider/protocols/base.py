"""What a dialect is: functions from the wire to a conversation, and from a completion to the wire.

A dialect is a module with these names; nothing else in the provider knows one from another.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from fakeprovider.completion import Completion
from fakeprovider.conversation import Conversation, Violation
from fakeprovider.errors import ApiError
from fakeprovider.memory import Memory

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
