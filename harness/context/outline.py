"""What was done, told without a model: a line per call, for when a summary cannot be had."""

from __future__ import annotations

from collections.abc import Sequence

from harness.models.base import Message

SHOWN = 120  # characters of arguments and of replies


def outline(messages: Sequence[Message]) -> str:
    """A line for each call with its outcome and size, and for each reply in words."""
    sizes = {m.call_id: (m.outcome, len(m.content or "")) for m in messages if m.role == "tool"}
    lines: list[str] = []
    for message in messages:
        if message.role == "assistant" and message.content:
            lines.append(f"- said: {message.content[:SHOWN]}")
        for call in message.calls:
            outcome, size = sizes.get(call.id, ("unknown", 0))
            called = f"{call.name} {call.arguments[:SHOWN]}"
            lines.append(f"- called {called}: {outcome}, {size} characters")
    return "\n".join(lines)
