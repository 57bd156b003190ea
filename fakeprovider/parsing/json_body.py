"""From bytes to typed JSON, with an error that helps when they are not what they should be."""

from __future__ import annotations

import json
import re
from typing import TypeVar

import msgspec

from fakeprovider.errors import ApiError, invalid

T = TypeVar("T")

_MISSING = re.compile(r"missing required field `(.+?)`")
_PLACE = re.compile(r" - at `(?:key in )?\$?(.*?)`$")

_NO_JSON = {
    b"\xef\xbb\xbf": "a byte order mark (EF BB BF). Send JSON in UTF-8 without one.",
    b"\xff\xfe": "a byte order mark of UTF-16 (FF FE). Send JSON in UTF-8, without a mark.",
    b"\xfe\xff": "a byte order mark of UTF-16 (FE FF). Send JSON in UTF-8, without a mark.",
    b"\x1f\x8b": "the bytes of gzip (1F 8B). Send the JSON itself, not compressed.",
    b"\x28\xb5\x2f\xfd": "the bytes of zstd (28 B5 2F FD). Send the JSON itself, not compressed.",
}
"""How bodies begin that are no JSON but something else that clients send."""

_JSON_WORDS = {"`": "", "str": "string", "int": "integer", "bool": "boolean", "float": "number"}
_TYPE = re.compile(r"`|\b(?:str|int|bool|float)\b")


def decode(body: bytes, decoder: msgspec.json.Decoder[T], where: str = "") -> T:
    """Decode JSON into the decoder's type; `where` is the path of `body` in the request.

    Raises `ApiError` (400) for bytes that are not UTF-8, not JSON, nested too deeply, holding a
    lone surrogate, or of another shape than the type.
    """
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise _wrong_shape(str(error), where) from None
    except msgspec.DecodeError as error:
        raise invalid(_diagnose(body, str(error))) from None
    except RecursionError:
        raise too_deep() from None


def check_utf8(body: bytes) -> None:
    """Raises `ApiError` (400) if the bytes are not UTF-8: msgspec passes over what it skips."""
    if body.isascii():
        return
    for mark, what in _NO_JSON.items():
        if body.startswith(mark):
            raise invalid(f"The body begins with {what}")
    try:
        body.decode()
    except UnicodeDecodeError as error:
        raise invalid(
            f"The body is not UTF-8: byte {body[error.start]:#04x} at position {error.start}. "
            "Send JSON encoded as UTF-8."
        ) from None


def too_deep() -> ApiError:
    """The error for a body nested so deeply that reading it would exhaust the stack."""
    return invalid("The body is nested too deeply to be read.")


def _diagnose(body: bytes, found: str) -> str:
    """Why a body is no JSON: the standard library says it better, and lone surrogates plainly."""
    if not body.strip():
        return "The body is empty. Send a JSON object."
    try:
        value = json.loads(body.decode())
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return (
            "The body has a lone surrogate (an escape from \\ud800 to \\udfff without its other "
            "half), which is no character and cannot be encoded as UTF-8."
        )
    except json.JSONDecodeError as error:
        return f"The body is not JSON: {error}."
    except RecursionError:
        return too_deep().message
    return f"The body is not JSON: {found}."


def _wrong_shape(found: str, where: str) -> ApiError:
    missing = _MISSING.search(found)
    place = _PLACE.search(found)
    path = _join(where, place[1] if place else "")
    if missing:
        param = _join(path, f".{missing[1]}")
        return invalid(
            f"Missing required parameter: '{param}'.", param, "missing_required_parameter"
        )
    reason = _TYPE.sub(lambda name: _JSON_WORDS[name[0]], _PLACE.sub("", found).lower())
    named = f"'{path}'" if path else "the body"
    return invalid(f"Invalid type for {named}: {reason}.", path or None, "invalid_type")


def _join(where: str, path: str) -> str:
    return (where + path).lstrip(".")
