"""What is Anthropic's whatever the endpoint: errors, models, headers.

The headers say the same each time, but for the request's id: see those of OpenAI.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from fakeprovider.errors import ApiError, invalid
from fakeprovider.protocols.dialect import CREATED_TEXT, Headers

VENDOR: Final = "anthropic"
CLIENT_HEADER: Final = "anthropic-version"
STREAM_ERRORS: Final = {
    "overloaded": "overloaded_error",
    "server": "api_error",
    "rate_limit": "rate_limit_error",
    "timeout": "timeout_error",
}
REQUESTS_LEFT: Final = "anthropic-ratelimit-requests-remaining"
_HEADERS: Final[Headers] = (
    ("anthropic-ratelimit-requests-limit", "4000"),
    (REQUESTS_LEFT, "3999"),
    ("anthropic-ratelimit-requests-reset", CREATED_TEXT),
    ("anthropic-ratelimit-tokens-limit", "2000000"),
    ("anthropic-ratelimit-tokens-remaining", "1999000"),
    ("anthropic-ratelimit-tokens-reset", CREATED_TEXT),
)
_ERROR_TYPE = {
    "invalid_request": "invalid_request_error",
    "authentication": "authentication_error",
    "permission": "permission_error",
    "not_found": "not_found_error",
    "rate_limit": "rate_limit_error",
    "too_large": "request_too_large",
    "overloaded": "overloaded_error",
    "server": "api_error",
}
_PATH = re.compile(r"\[(\d+)\]")
_QUOTED_PATH = re.compile(r"^(?:Invalid|Missing)[^']*'[^']*': ")
_encode = msgspec.json.Encoder().encode


def context_exceeded(tokens: int, limit: int) -> ApiError:
    """The error for a prompt that is longer than the context."""
    return invalid(f"prompt is too long: {tokens} tokens > {limit} maximum")


def service_headers(request_id: str) -> Headers:
    """The headers of every reply."""
    return (("request-id", request_id), ("x-request-id", request_id), *_HEADERS)


def render_error(error: ApiError) -> bytes:
    """An `error` object; a message about a field begins with its path."""
    shown: dict[str, Any] = {
        "type": _ERROR_TYPE.get(error.kind, "invalid_request_error"),
        "message": _message(error),
    }
    if error.details is not None:
        shown["details"] = error.details
    return _encode({"type": "error", "error": shown, "request_id": error.request_id})


def render_models(names: tuple[str, ...]) -> bytes:
    """A page of models."""
    data = list(map(_model, names))
    first, last = (names[0], names[-1]) if names else (None, None)
    return _encode({"data": data, "has_more": False, "first_id": first, "last_id": last})


def render_model(name: str) -> bytes:
    """A `model` object."""
    return _encode(_model(name))


def _model(name: str) -> dict[str, Any]:
    return {
        "type": "model",
        "id": name,
        "display_name": name,
        "created_at": CREATED_TEXT,
        "lifecycle": "active",
    }


def _message(error: ApiError) -> str:
    if error.param is None:
        return error.message
    path = _PATH.sub(r".\1", error.param)
    if error.code == "missing_required_parameter":
        return f"{path}: Field required"
    return f"{path}: {_QUOTED_PATH.sub('', error.message)}"
