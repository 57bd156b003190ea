"""What is Anthropic's whatever the endpoint: what is refused, errors, models, headers.

The headers say the same each time, but for the request's id: see those of OpenAI.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from fakeprovider.conversation import NOWHERE, Violation
from fakeprovider.errors import ApiError, invalid
from fakeprovider.protocols.dialect import CREATED_TEXT, Headers

VENDOR: Final = "anthropic"
CLIENT_HEADER: Final = "anthropic-version"
REFUSED: Final = frozenset(
    {
        # A call without a result before the next message, or at the end:
        # anthropics/claude-code#8210.
        "unanswered_call",
        # A result without a call before it: anthropics/claude-code#13460.
        "orphan_result",
        # Two results for one call: anthropics/anthropic-sdk-typescript#653 (a result for each call,
        # and no more).
        "second_result",
        # Two calls with one id in one turn: trycua/cua#524.
        "twice_in_turn",
        # One id again in a later turn, each with its result: NVIDIA-NeMo/Switchyard#502,
        # anthropics/claude-code#20700.
        "id_again",
        # Results behind other content of their user message: the tool use guide ("tool_result
        # blocks come first"), anthropics/anthropic-sdk-typescript#653.
        "result_not_first",
        # An assistant message (not the last) with null content: anthropics/claude-code#6774.
        "null_content",
        # An assistant message (not the last) with empty content: anthropics/claude-code#3196,
        # #6774. In 2026 some models were seen to take it (experientiallabs/experiential#804): what
        # is refused here is safe there.
        "empty_content",
        # A text block without text: anthropics/anthropic-sdk-python#461, BerriAI/litellm#22979.
        "empty_text",
        # An input that is not an object: anthropics/claude-code#6695,
        # anthropics/anthropic-sdk-typescript#648.
        "arguments_not_json",
        # A call id that is not of [a-zA-Z0-9_-]: CommandCodeAI/command-code#323,
        # RooCodeInc/Roo-Code#10649.
        "call_id_characters",
        # A tool name outside [a-zA-Z0-9_-] or over 128 characters: the reference of `tools[].name`,
        # apify/tester-mcp-client#11.
        "tool_name",
        # A thinking block that came back without its signature, or with other words: the extended
        # thinking guide, anthropics/claude-code#10627.
        "thinking_signature",
        # Two of the tools offered have one name: anthropics/claude-code#10687,
        # microsoft/vscode#276110.
        "tool_twice",
        # More than four blocks with `cache_control`, the request's own counted: the prompt caching
        # guide, anthropics/claude-code#8901, coder/mux#3112.
        "cache_marks",
        # A thinking budget under 1024 tokens: the extended thinking guide, themaximalist/llm.js#30.
        "budget_too_small",
        # A thinking budget of `max_tokens` or more: the extended thinking guide,
        # griffinwork40/agent-afk#951.
        "budget_over_max",
    }
)
"""Flaws of a request that the service refuses, with documentation or a public report."""

NOTED: Final = frozenset(
    {
        # A system message among the messages: the SDK's types have it, not every model takes it.
        "system_in_middle",
        # A call of a tool that is not offered now: no report of a refusal is known.
        "not_offered",
        # With tools a thinking budget may be more than `max_tokens` where a beta header turns
        # interleaved thinking on: headers are not looked at.
        "budget_over_max_with_tools",
        # A signature that is not from here: whose it is cannot be told, so it is let through.
        "foreign_signature",
    }
)
"""Flaws that are accepted with a note."""

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
    """The error's words, with the path of the field before them."""
    if error.param is None:
        return error.message
    path = _PATH.sub(r".\1", error.param)
    if error.code == "missing_required_parameter":
        return f"{path}: Field required"
    return f"{path}: {_QUOTED_PATH.sub('', error.message)}"


_MARK = b'"cache_control"'
_MOST_MARKS = 4
_LEAST_BUDGET = 1024  # tokens
_ANY_JSON: msgspec.json.Decoder[Any] = msgspec.json.Decoder()


def too_many_marks(body: bytes) -> tuple[Violation, ...]:
    """For more cache marks than a Messages request may have.

    Counted are blocks of system, messages and results, tools, and the request itself.
    """
    if body.count(_MARK) <= _MOST_MARKS:  # it may also be a word of somebody's schema
        return ()
    request = _ANY_JSON.decode(body)
    marks = sum(block.get("cache_control") is not None for block in _markable(request))
    if marks <= _MOST_MARKS:
        return ()
    detail = f"at most {_MOST_MARKS} blocks may have it, and {marks} do"
    return (Violation("cache_marks", NOWHERE, detail, "cache_control"),)


def _markable(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All that may have a cache mark."""
    yield request
    blocks = [*_list(request.get("system")), *_list(request.get("tools"))]
    for message in _list(request.get("messages")):
        for block in _list(message.get("content")):
            blocks += [block, *_list(block.get("content"))]
    yield from (block for block in blocks if isinstance(block, dict))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def thinking_budget(
    budget: int | None, max_tokens: int, *, with_tools: bool
) -> tuple[Violation, ...]:
    """For a budget that thinking cannot have; `budget` None if it is not on, or says none."""
    if budget is None:
        return ()
    where = "thinking.budget_tokens"
    if budget < _LEAST_BUDGET:
        detail = f"it is {budget}, and must be {_LEAST_BUDGET} or more"
        return (Violation("budget_too_small", NOWHERE, detail, where),)
    if budget >= max_tokens:
        rule = "budget_over_max_with_tools" if with_tools else "budget_over_max"
        detail = f"it is {budget}, and must be less than max_tokens, which is {max_tokens}"
        return (Violation(rule, NOWHERE, detail, where),)
    return ()
