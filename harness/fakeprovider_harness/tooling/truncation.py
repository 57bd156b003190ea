"""Both ends of a file that is too long to be kept whole."""

from __future__ import annotations

import os
from typing import BinaryIO

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
