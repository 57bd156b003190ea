"""Embeddings: `POST /embeddings`, as OpenAI has it; errors are those of chat completions.

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
from typing import Any

import msgspec

from fakeprovider import tokens
from fakeprovider.conversation import Conversation
from fakeprovider.errors import ApiError, invalid
from fakeprovider.parsing.caches import RequestCaches
from fakeprovider.parsing.request_reader import check_utf8, decode

_MOST_TEXTS = 2048  # the reference's limit of an input list
_MOST_DIMENSIONS = 3072  # of the largest model
_encode = msgspec.json.Encoder().encode


class Request(msgspec.Struct):
    """What is read of a request; everything else is accepted and ignored."""

    input: str | list[str | int | list[int]]
    model: str = ""
    dimensions: int | None = None
    encoding_format: str | None = None


_DECODER = msgspec.json.Decoder(Request)


def answer(
    body: bytes, caches: RequestCaches, model: str = "", recount: object = None
) -> tuple[Conversation | None, bytes]:
    """A list of unit vectors, one per text; raises `ApiError`."""
    check_utf8(body)
    request = decode(body, _DECODER)
    if not (request.model or model):
        raise invalid("Missing required parameter: 'model'.", "model", "missing_required_parameter")
    dimensions = _dimensions(request)
    inputs = _inputs(request)
    vectors = [embed(text, dimensions) for text in inputs]
    spent = sum(map(tokens.count, inputs))
    return None, _encode(
        {
            "object": "list",
            "data": [
                {"object": "embedding", "index": index, "embedding": _form(vector, request)}
                for index, vector in enumerate(vectors)
            ],
            "model": request.model or model,
            "usage": {"prompt_tokens": spent, "total_tokens": spent},
        }
    )


def _inputs(request: Request) -> list[str]:
    """The texts; token ids, which some clients send, stand for themselves."""
    inputs = request.input
    if isinstance(inputs, str):
        inputs = [inputs]
    elif inputs and all(isinstance(token, int) for token in inputs):
        inputs = [[int(token) for token in inputs if isinstance(token, int)]]
    texts = [text if isinstance(text, str) else str(text) for text in inputs]
    if not texts or not all(texts) or [] in inputs:
        raise invalid("Invalid 'input': it must not be empty, nor hold an empty text.", "input")
    if len(texts) > _MOST_TEXTS:
        raise invalid(f"Invalid 'input': at most {_MOST_TEXTS} texts.", "input")
    return texts


def _dimensions(request: Request) -> int:
    dimensions = DIMENSIONS if request.dimensions is None else request.dimensions
    if not 1 <= dimensions <= _MOST_DIMENSIONS:
        raise _out_of_range(dimensions)
    return dimensions


def _out_of_range(dimensions: int) -> ApiError:
    return invalid(
        f"Invalid 'dimensions': expected 1 to {_MOST_DIMENSIONS}, but got {dimensions}.",
        "dimensions",
        "integer_out_of_range",
    )


def _form(vector: list[float], request: Request) -> Any:
    """The vector as the request wants it encoded."""
    kind = request.encoding_format or "float"
    if kind not in ("float", "base64"):
        raise invalid(
            f"Invalid value: '{kind}'. 'encoding_format' is float or base64.", "encoding_format"
        )
    return to_base64(vector) if kind == "base64" else vector


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
    """What counts: words, and pairs of neighbours."""
    words = _WORD.findall(text.lower())
    yield from words
    yield from map(" ".join, pairwise(words))
