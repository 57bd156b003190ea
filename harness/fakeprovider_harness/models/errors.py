"""From an error as a service sends it, in any shape, to a `ModelError`.

Statuses and types: OpenAI's error code guide and Anthropic's "Errors" page; what is retried follows
their official SDKs (408, 409, 429, 5xx, and the `x-should-retry` header above all).
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any

from fakeprovider_harness.models.base import ModelError, ModelReply
from fakeprovider_harness.models.wire import mend

MAX_TEXT = 2_000
"""Characters of a service's error text that are kept."""

OVERFLOW = "context_length_exceeded"
QUOTA = "insufficient_quota"

_QUOTA_CODES = {
    QUOTA,
    "billing_error",
    "billing_hard_limit_reached",
    "credit_balance_exhausted",
    "organization_spend_limit_exceeded",
    "organization_usage_limit_exceeded",
    "project_spend_limit_exceeded",
}
_QUOTA_TEXT = re.compile(r"credit balance is too low|exceeded your current quota", re.I)
_OVERFLOW_TEXT = re.compile(
    r"context[ _-]?(length|window|size)|maximum context|prompt is too long|input (is|was) too long"
    r"|input (length|token count) .{0,80}exceed|too many (input )?tokens",
    re.I | re.S,
)
_STATUS_OF_TYPE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_RETRYABLE = {408, 409, 429}


class Unreadable(ValueError):
    """A reply that cannot be understood; the exchange turns it into a `ModelError`."""


def status_error(status: int, headers: Mapping[str, str], body: bytes) -> ModelError:
    """The error that an HTTP answer other than 200 stands for; any body, even none, will do."""
    text, code = describe(body)
    if 300 <= status < 400:
        text = f"redirected to {headers.get('location')}: give that as the base URL"
    request_id = headers.get("x-request-id") or headers.get("request-id")
    error = _error(text or "no error text", status, code)
    error.retry_after = retry_after(headers)
    error.request_id = request_id
    if (advice := headers.get("x-should-retry")) in ("true", "false"):
        error.retryable = advice == "true" and error.code not in (QUOTA, OVERFLOW)
    return error


def stream_error(payload: Any, partial: ModelReply | None) -> ModelError:
    """The error that a service reports inside an answer whose HTTP status was already 200.

    `partial` is None where the error came in place of a reply, as it would with an error status.
    """
    text, code = _unfold(payload)
    status = next((s for t in _words(payload) if (s := _STATUS_OF_TYPE.get(t))), None)
    if status is None and isinstance(payload, dict) and isinstance(payload.get("code"), int):
        status = payload["code"]
    error = _error(text or "no error text", status or 500, code)
    error.partial = partial
    return error


def describe(body: bytes) -> tuple[str, str | None]:
    """The text (at most `MAX_TEXT` characters) and the code of an error body of any shape."""
    try:
        text, code = _unfold(json.loads(body))
    except ValueError:
        text, code = body.decode("utf-8", "replace"), None
    except RecursionError:
        text, code = "", None
    return mend(text.strip())[:MAX_TEXT], code


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Seconds to wait, from `retry-after-ms`, or `retry-after` as seconds or as an HTTP date.

    A date is compared with the answer's own `date` header where there is one, so that a wrong
    clock on this side does no harm; `now` is in seconds since the epoch. Never negative; None for
    what cannot be read.
    """
    for name, scale in (("retry-after-ms", 1000), ("retry-after", 1)):
        seconds = _number(headers.get(name))
        if seconds is not None:
            return max(0.0, seconds / scale)
    until = _date(headers.get("retry-after"))
    if until is None:
        return None
    here = _date(headers.get("date")) or (time.time() if now is None else now)
    return max(0.0, until - here)


def _error(text: str, status: int, code: str | None) -> ModelError:
    code = _known_code(text, status, code)
    retryable = status in _RETRYABLE or status >= 500
    if code in (OVERFLOW, QUOTA):
        retryable = False
    return ModelError(f"{status}: {text}", status=status, code=code, retryable=retryable)


def _known_code(text: str, status: int, code: str | None) -> str | None:
    if code in _QUOTA_CODES or status == 402 or _QUOTA_TEXT.search(text):
        return QUOTA
    # a 429 about tokens per minute speaks of limits too, and passes by waiting
    if code == OVERFLOW or status == 413 or (status != 429 and _OVERFLOW_TEXT.search(text)):
        return OVERFLOW
    return code


def _unfold(body: Any) -> tuple[str, str | None]:
    """Look for the text where services put it, from the outside in."""
    if isinstance(body, str):
        return body, None
    if isinstance(body, list):
        return _unfold(body[0]) if body else ("", None)
    if not isinstance(body, dict):
        return "", None
    code = _code(body)
    for key in ("error", "message", "detail", "msg", "error_message", "title"):
        if body.get(key):
            text, inner = _unfold(body[key])
            if text:
                return text, inner or code
    return "", code


def _code(body: dict[str, Any]) -> str | None:
    quota = next((w for w in _words(body) if w in _QUOTA_CODES), None)
    code = quota or body.get("code") or body.get("error_code") or body.get("type")
    return str(code) if isinstance(code, (str, int)) else None


def _words(body: Any) -> list[str]:
    if not isinstance(body, dict):
        return []
    inner = _words(body.get("error"))
    return inner + [w for k in ("code", "type") if isinstance(w := body.get(k), str)]


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _date(text: str | None) -> float | None:
    try:
        moment = parsedate_to_datetime(text or "")
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
