"""What both of OpenAI's dialects have in common: errors, models, headers, limits of names.

The headers say the same each time, but for the request's id, which follows from its bytes: a
repeated request gets the same reply to the last byte of its head. The limits are those of a quiet
account.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from fakeprovider.errors import ApiError, invalid
from fakeprovider.protocols.dialect import CREATED, Headers

VENDOR: Final = "openai"
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
REQUESTS_LEFT: Final = "x-ratelimit-remaining-requests"

REFUSED: Final = frozenset(
    {
        # A call without a result before the next message, or at the end.
        # chat: QwenLM/qwen-code#315, charmbracelet/crush#529;
        # responses: router-for-me/CLIProxyAPI#2368.
        "unanswered_call",
        # A result without a call before it.
        # chat: tidyverse/ellmer#459; responses: microsoft/vscode#320060.
        "orphan_result",
        # Two results for one call.
        # chat: agno-agi/agno#5116; responses: NousResearch/hermes-agent#111443.
        "second_result",
        # Two calls with one id in one turn. In different turns both are known to take it, from
        # clients that count their ids per turn.
        # chat: openclaw/openclaw#47136; responses: earendil-works/pi#9057, openai/gpt-oss#309.
        "twice_in_turn",
        # A call id over 40 characters (chat: camel-ai/camel#2215) or over 64
        # (responses: AnswerDotAI/fastllm#45, V1ki/dsh-plugin-subscriptions#29).
        "call_id_too_long",
        # A tool name outside [a-zA-Z0-9_-] or over 64 characters: the reference of
        # `tools[].function.name` and `tools[].name`.
        "tool_name",
    }
)
"""Flaws of a transcript that both services refuse, with documentation or a public report."""

NOTED: Final = frozenset(
    {
        # A call of a tool that is not offered now: no report of a refusal is known.
        "not_offered",
        # Arguments that are not JSON.
        "arguments_not_json",
        # Two of the tools offered have one name. OpenAI's models were seen to take it
        # (eclipse-theia/theia#16122); xAI's Responses refuse it (justrach/codegraff#505).
        "tool_twice",
    }
)
"""Flaws that are accepted with a note."""

STREAM_ERRORS: Final = {
    "overloaded": "server_error",
    "server": "server_error",
    "rate_limit": "rate_limit_exceeded",
    "timeout": "server_error",
}
"""What an error event in a stream is called, by its kind."""

_HEADERS: Final[Headers] = (
    ("openai-version", "2020-10-01"),
    ("x-ratelimit-limit-requests", "10000"),
    ("x-ratelimit-limit-tokens", "2000000"),
    (REQUESTS_LEFT, "9999"),
    ("x-ratelimit-remaining-tokens", "1999999"),
    ("x-ratelimit-reset-requests", "6ms"),
    ("x-ratelimit-reset-tokens", "0s"),
)
_ERROR_TYPE = {"rate_limit": "rate_limit_error", "server": "server_error"}
_encode = msgspec.json.Encoder().encode


def service_headers(request_id: str) -> Headers:
    """The headers of every reply."""
    return (("x-request-id", request_id), *_HEADERS)


def render_error(error: ApiError) -> bytes:
    """An `error` object."""
    return _encode(
        {
            "error": {
                "message": error.message,
                "type": _ERROR_TYPE.get(error.kind, "invalid_request_error"),
                "param": error.param,
                "code": error.code,
            }
        }
    )


def context_exceeded(tokens: int, limit: int, field: str) -> ApiError:
    """The error for a prompt that is longer than the context; `field` holds the prompt."""
    message = (
        f"This model's maximum context length is {limit} tokens. However, your messages resulted "
        f"in {tokens} tokens. Please reduce the length of the messages."
    )
    return invalid(message, field, "context_length_exceeded")


def render_models(names: tuple[str, ...]) -> bytes:
    """A `list` of models."""
    return _encode({"object": "list", "data": list(map(_model, names))})


def render_model(name: str) -> bytes:
    """A `model` object."""
    return _encode(_model(name))


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": CREATED, "owned_by": "fakeprovider"}


def missing(path: str) -> ApiError:
    """The error for a field that is not there."""
    return invalid(f"Missing required parameter: '{path}'.", path, "missing_required_parameter")


def check_tool_name(name: str, path: str) -> None:
    """Raise `ApiError` for a tool's name that the service does not take."""
    if not TOOL_NAME.fullmatch(name):
        raise invalid(
            f"Invalid '{path}': {name!r} is not 1 to 64 of a-zA-Z0-9_-.", path, "invalid_value"
        )


def name_flaws(name: str) -> list[tuple[str, str]]:
    """What is wrong with the name of a tool that was called."""
    if TOOL_NAME.fullmatch(name):
        return []
    return [("tool_name", f"the tool name {name!r} is not 1 to 64 of a-zA-Z0-9_-")]


def id_flaws(call_id: str, longest: int) -> list[tuple[str, str]]:
    """What is wrong with a call's id, which may have `longest` characters."""
    if len(call_id) <= longest:
        return []
    return [("call_id_too_long", f"the call id {call_id!r} is over {longest} characters")]


def argument_flaws(call_id: str, arguments: str) -> list[tuple[str, str]]:
    """What is wrong with a call's arguments, which are text."""
    try:
        _ANY_JSON.decode(arguments)
    except (msgspec.DecodeError, RecursionError):
        return [("arguments_not_json", f"arguments of call {call_id!r} are not JSON")]
    return []


_ANY_JSON: msgspec.json.Decoder[Any] = msgspec.json.Decoder()
