"""Results that are too long to send whole: cut in what requests carry, whole in the transcript."""

from __future__ import annotations

import msgspec

from harness import wording
from harness.models.base import Message

HEAD = 0.75
"""Share of what is kept that comes from the beginning; the rest is the end."""


def clipped(message: Message, most: int | None) -> Message:
    """The message with at most `most` characters of a tool's result, and a notice with both sizes.

    It depends on the message alone, so what was sent once is sent the same again.
    """
    text = message.content or ""
    if message.role != "tool" or most is None or len(text) <= most:
        return message
    head = int(most * HEAD)
    end = text[len(text) - (most - head) :]
    notice = wording.clipped(len(text) - most, len(text))
    return msgspec.structs.replace(message, content=f"{text[:head]}\n{notice}\n{end}")
