"""What the loop needs of a model client, and the neutral shapes that pass between them.

A client turns a transcript into one request and the answer into one `ModelReply`. It does not
retry by itself, does not charge and does not run tools: those belong to the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

import msgspec

Role = Literal["system", "user", "assistant", "tool"]


class Call(msgspec.Struct, frozen=True):
    """One tool call as the model wrote it; `arguments` is the string as it was sent."""

    id: str
    name: str
    arguments: str


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """One entry of the transcript, in no provider's dialect.

    `outcome` and `name` belong to a tool result; `opaque` carries what a provider wants back
    unread (thinking blocks with signatures, reasoning items), keyed by dialect.
    """

    role: Role
    content: str | None = None
    calls: tuple[Call, ...] = ()
    call_id: str | None = None
    name: str | None = None
    outcome: str | None = None
    opaque: dict[str, Any] = {}


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens of one request. `prompt_tokens` always includes cached reads and writes."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    estimated: bool = False


class ToolSpec(msgspec.Struct, frozen=True):
    """What the model is told of a tool; `parameters` is a JSON Schema object."""

    name: str
    description: str
    parameters: dict[str, Any]


class ModelReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """One whole reply. `finish` is the provider's own word, brought to chat's vocabulary:
    `stop`, `tool_calls`, `length`, `content_filter`, `refusal`, `pause`, `context_window`;
    None if the provider never said. `usage` is None when the provider did not report it.
    `model` is the model that answered, which need not be the one asked for.
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    finish: str | None = None
    usage: Usage | None = None
    model: str | None = None
    opaque: dict[str, Any] = {}


class CancelSignal(Protocol):
    """The one signal of a run, as far as a client needs it."""

    @property
    def cancelled(self) -> bool: ...
    async def wait(self) -> None:
        """Return when the signal is set."""
        ...


class ModelError(Exception):
    """A request that brought no usable reply.

    `status` is the HTTP status (None for a broken connection), `code` the provider's own code,
    `retry_after` in seconds if it was sent, `partial` what had been received (charged, never run),
    `retryable` whether the same request may succeed later.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: str | None = None,
        retry_after: float | None = None,
        retryable: bool = False,
        partial: ModelReply | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.retry_after = retry_after
        self.retryable = retryable
        self.partial = partial


class Model(Protocol):
    """A model client: ChatModel, MessagesModel, ResponsesModel, or a fake in a test."""

    name: str

    async def ask(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        *,
        max_output: int | None = None,
        cancel: CancelSignal | None = None,
        on_text: Callable[[str], None] | None = None,
    ) -> ModelReply:
        """Send one request; raise `ModelError` (cancelled: `asyncio.CancelledError`)."""
        ...

    async def aclose(self) -> None: ...
