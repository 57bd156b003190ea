"""Embeddings that need no model: deterministic unit vectors, near each other for shared words.

Agents with memory ask for them. Each word (and each pair of neighbours) adds to a few places of
the vector that its digest names, so that retrieval by likeness behaves as such an agent expects.
"""

from __future__ import annotations

import math
import re
from array import array
from base64 import b64encode
from collections.abc import Iterator
from hashlib import blake2b
from itertools import pairwise
from sys import byteorder

DIMENSIONS = 1536
"""Of text-embedding-3-small, the service's documented default."""

_WORD = re.compile(r"\w+|[^\w\s]")
_PLACES = 8


def embed(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """The unit vector of a text, with `dimensions` numbers (at least 1).

    Equal texts give equal vectors in every process; the numbers are exact 32-bit floats, so that
    both encodings carry the same vector.
    """
    vector = [0.0] * dimensions
    for feature in _features(text):
        digest = blake2b(feature.encode("utf-8", "replace"), digest_size=4 * _PLACES).digest()
        for at in range(0, len(digest), 4):
            value = int.from_bytes(digest[at : at + 4], "little")
            vector[(value >> 1) % dimensions] += 1.0 if value & 1 else -1.0
    length = math.sqrt(sum(value * value for value in vector))
    if not length:  # nothing in the text, or all of it cancelled out
        vector[0] = length = 1.0
    return array("f", (value / length for value in vector)).tolist()


def to_base64(vector: list[float]) -> str:
    """Little-endian 32-bit floats in base64, as `encoding_format: "base64"` has them."""
    numbers = array("f", vector)
    if byteorder == "big":
        numbers.byteswap()
    return b64encode(numbers.tobytes()).decode()


def _features(text: str) -> Iterator[str]:
    words = _WORD.findall(text.lower())
    yield from words
    yield from map(" ".join, pairwise(words))
