"""Embeddings: `POST /embeddings`, as OpenAI has it; errors are those of chat completions."""

from __future__ import annotations

from typing import Any

import msgspec

from fakeprovider import tokens
from fakeprovider.conversation import Conversation
from fakeprovider.embedding import DIMENSIONS, embed, to_base64
from fakeprovider.errors import ApiError, invalid
from fakeprovider.memory import Memory
from fakeprovider.wire import check_utf8, decode

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
    body: bytes, memory: Memory, model: str = "", recount: object = None
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
    found = request.input
    if isinstance(found, str):
        found = [found]
    elif found and all(isinstance(one, int) for one in found):
        found = [[int(one) for one in found if isinstance(one, int)]]
    texts = [one if isinstance(one, str) else str(one) for one in found]
    if not texts or not all(texts) or [] in found:
        raise invalid("Invalid 'input': it must not be empty, nor hold an empty text.", "input")
    if len(texts) > _MOST_TEXTS:
        raise invalid(f"Invalid 'input': at most {_MOST_TEXTS} texts.", "input")
    return texts


def _dimensions(request: Request) -> int:
    found = DIMENSIONS if request.dimensions is None else request.dimensions
    if not 1 <= found <= _MOST_DIMENSIONS:
        raise _out_of_range(found)
    return found


def _out_of_range(found: int) -> ApiError:
    return invalid(
        f"Invalid 'dimensions': expected 1 to {_MOST_DIMENSIONS}, but got {found}.",
        "dimensions",
        "integer_out_of_range",
    )


def _form(vector: list[float], request: Request) -> Any:
    kind = request.encoding_format or "float"
    if kind not in ("float", "base64"):
        raise invalid(
            f"Invalid value: '{kind}'. 'encoding_format' is float or base64.", "encoding_format"
        )
    return to_base64(vector) if kind == "base64" else vector
