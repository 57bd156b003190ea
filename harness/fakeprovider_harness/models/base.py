"""What the loop needs of a model client, and the neutral shapes that pass between them.

A client turns a transcript into one request and the answer into one `ModelReply`. It does not
retry by itself, does not charge and does not run tools: those belong to the loop.
"""

from __future__ import annotations

import asyncio
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
    `model` is the model that answered, which need not be the one asked for. `notes` are oddities
    that did not spoil the reply, in words, for the trace. `attempts` are the failed requests that
    came before this reply when a wrapper retried: each is to be charged like an error's `partial`.
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    finish: str | None = None
    usage: Usage | None = None
    model: str | None = None
    opaque: dict[str, Any] = {}
    notes: tuple[str, ...] = ()
    attempts: tuple[Attempt, ...] = ()


class Attempt(msgspec.Struct, frozen=True, omit_defaults=True):
    """One failed request that was retried. `waited` is the pause after it, in seconds.

    `partial` as in `ModelError`: None means that it cannot have been charged.
    """

    message: str
    status: int | None = None
    code: str | None = None
    waited: float = 0.0
    partial: ModelReply | None = None


class CancelSignal(Protocol):
    """The one signal of a run, as far as a client needs it."""

    @property
    def cancelled(self) -> bool: ...
    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` once, in any thread, when the signal is set; returns how to undo it."""
        ...

    async def wait(self) -> None:
        """Return when the signal is set."""
        ...


class ModelError(Exception):
    """A request that brought no usable reply.

    `status` is the HTTP status (None for a broken connection; for an error inside a stream, the
    status that the provider's error type stands for). `code` is the provider's own code, except
    for the two that the loop must recognise whoever sent them: `context_length_exceeded` and
    `insufficient_quota`. `retry_after` is in seconds, if it was sent. `retryable` says whether the
    same request may succeed later.

    `partial` is what had been received (charged, never run). It is None where the provider cannot
    have charged: no connection, or an error status instead of a reply. It is an empty reply where
    the request went out and nothing came back. Its `usage` is None or flagged as estimated.

    `attempts` are earlier failures of the same `ask`, when a wrapper retried. `gave_up` is why it
    did not go on (`rate_limited`, `attempts`, `charged`, `budget`), None where nothing was retried.
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
        request_id: str | None = None,
        attempts: tuple[Attempt, ...] = (),
        gave_up: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.retry_after = retry_after
        self.retryable = retryable
        self.partial = partial
        self.request_id = request_id
        self.attempts = attempts
        self.gave_up = gave_up


class ModelCancelled(asyncio.CancelledError):
    """The run's signal ended a request. `partial` and `attempts` as in `ModelError`."""

    def __init__(
        self, *, partial: ModelReply | None = None, attempts: tuple[Attempt, ...] = ()
    ) -> None:
        super().__init__("the run was cancelled")
        self.partial = partial
        self.attempts = attempts


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
        """Send one request; raise `ModelError`, or `ModelCancelled` when `cancel` was set."""
        ...

    async def aclose(self) -> None: ...


def bytes_of(reply: ModelReply) -> int:
    """Bytes of text and calls: an upper bound of the tokens seen, since a token is at least one."""
    calls = sum(len(c.name.encode()) + len(c.arguments.encode()) for c in reply.calls)
    return len(reply.text.encode()) + calls


def estimate_open(reply: ModelReply, hidden: int = 0) -> ModelReply:
    """The reply of a stream that broke: its output is at least what is seen, and flagged.

    `hidden` are bytes received that are not in the reply, such as thinking.
    """
    if reply.usage is None:
        return reply
    seen = max(reply.usage.completion_tokens, bytes_of(reply) + hidden)
    usage = msgspec.structs.replace(reply.usage, completion_tokens=seen, estimated=True)
    return msgspec.structs.replace(reply, usage=usage)


def inclusive(
    prompt: int, completion: int, *, cached: int = 0, written: int = 0, reasoning: int = 0
) -> tuple[Usage, tuple[str, ...]]:
    """Usage whose `prompt` already includes `cached` and `written`, and what was odd about it.

    Where the parts exceed the whole, the discount is not believed: the larger number is taken for
    the prompt, nothing counts as cached, and the usage is flagged as estimated.
    """
    prompt, completion = max(0, prompt), max(0, completion)
    cached, written = max(0, cached), max(0, written)
    if cached + written <= prompt:
        return Usage(prompt, completion, cached, written, max(0, reasoning)), ()
    usage = Usage(cached + written, completion, 0, written, max(0, reasoning), estimated=True)
    return usage, (f"usage: {cached} cached + {written} written of a prompt of {prompt} tokens",)


def count(report: Any, *path: str) -> int | None:
    """The number at `path` of a usage report; None for null, missing or nonsense.

    Tolerant on purpose: a reply that was received and billed is not lost over its bookkeeping.
    """
    for key in path:
        report = report.get(key) if isinstance(report, dict) else None
    return int(report) if isinstance(report, (int, float)) and report >= 0 else None


class Counts:
    """Running totals of a stream: a later report supersedes, an absent field keeps its value.

    Services repeat totals in every chunk, so reports are never added up.
    """

    def __init__(self) -> None:
        self._values: dict[str, int] = {}

    def note(self, key: str, value: int | None) -> None:
        """Take one report of one counter, if it says anything."""
        if value is not None:
            self._values[key] = max(value, self._values.get(key, 0))

    def get(self, key: str) -> int | None:
        """The last known value."""
        return self._values.get(key)


class Timeouts(msgspec.Struct, frozen=True):
    """Seconds; None is no limit.

    `connect` bounds the TCP and TLS handshakes. `first` and `stall` belong to streams: from sending
    to the first event, and from one event to the next. Comments and other keep-alives are not
    events: they show that a proxy is alive, not that a model is writing. `total` bounds the whole
    request, and is all that bounds a reply sent whole, since nothing is to be seen of it before it
    is finished.
    """

    connect: float | None = 10.0
    first: float | None = 120.0
    stall: float | None = 60.0
    total: float | None = 600.0
