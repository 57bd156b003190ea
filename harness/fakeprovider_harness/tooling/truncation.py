"""Both ends of a file that is too long to be kept whole."""

from __future__ import annotations

import os
from typing import BinaryIO

import msgspec

from fakeprovider_harness.models.base import Message
from fakeprovider_harness.tooling import model_messages

KEPT = 1_000_000
"""Bytes that are kept where nothing else is said."""

HEAD = 4
"""One part in so many comes from the beginning, the rest from the end: what went wrong, and counts,
stand there."""


def size_of(file: BinaryIO) -> int:
    """Its bytes."""
    return os.fstat(file.fileno()).st_size


def ends(file: BinaryIO, limit: int = KEPT) -> str:
    """The whole text, or its beginning, how many bytes are left out, and its end."""
    size = size_of(file)
    if size <= limit:
        return _part(file, 0, size)
    head = limit // HEAD
    gap = f"\n[{size - limit} bytes left out]\n"
    return _part(file, 0, head) + gap + _part(file, size - limit + head, limit - head)


def _part(file: BinaryIO, start: int, length: int) -> str:
    file.seek(start)
    return file.read(length).decode("utf-8", "replace")


CLIP_HEAD = 0.75
"""Share of what is kept that comes from the beginning; the rest is the end."""


def clipped(message: Message, most: int | None) -> Message:
    """The message with at most `most` characters of a tool's result, and a notice with both sizes.

    It depends on the message alone, so what was sent once is sent the same again.
    """
    text = message.content or ""
    if message.role != "tool" or most is None or len(text) <= most:
        return message
    head = int(most * CLIP_HEAD)
    end = text[len(text) - (most - head) :]
    notice = model_messages.clipped(len(text) - most, len(text))
    return msgspec.structs.replace(message, content=f"{text[:head]}\n{notice}\n{end}")
