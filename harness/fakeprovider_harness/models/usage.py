"""What a service reports of its tokens, brought to one meaning."""

from __future__ import annotations

from typing import Any

import msgspec

from fakeprovider_harness.models.base import ModelReply, Usage


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
