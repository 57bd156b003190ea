"""Chat completions: `POST /chat/completions`, whole and streamed."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from fakeprovider.conversation import Conversation, Offered, Violation
from fakeprovider.errors import ApiError, invalid
from fakeprovider.fitting.demands import FREE, Choice, allowed
from fakeprovider.parsing.caches import RequestCaches
from fakeprovider.parsing.fold import State, finish, judge, names_twice
from fakeprovider.parsing.request_reader import Form, decode, read
from fakeprovider.protocols import embeddings, openai
from fakeprovider.protocols.chat.history import parse_message
from fakeprovider.protocols.chat.rendering import (
    event,
    read_stream,
    read_whole,
    render_stream,
    render_whole,
)
from fakeprovider.protocols.dialect import DIALECTS, Dialect, Frame, TokenNames
from fakeprovider.protocols.openai import STREAM_ERRORS, check_tool_name, missing

NAME: Final = "chat"

_REFUSED = openai.REFUSED | {
    # An assistant message with null content and no calls.
    # vercel/ai#14950, run-llama/llama_index#17555.
    "null_content",
    # `tool_calls: []`: openai/openai-node#1341, openai/openai-python#2061.
    "empty_tool_calls",
}
_MOST_CHOICES = 128  # the reference's limit of `n`
_MOST_STOPS = 4  # and of `stop`
_NULL = msgspec.Raw(b"null")


class StreamOptions(msgspec.Struct):
    """How to stream."""

    include_usage: bool | None = None


class JsonSchema(msgspec.Struct):
    """The form of an answer in JSON."""

    name: str = ""
    schema: dict[str, Any] | None = None


class ResponseFormat(msgspec.Struct):
    """Whether the answer is to be text, JSON, or JSON of a certain form."""

    type: str
    json_schema: JsonSchema | None = None


class Request(msgspec.Struct):
    """What is read of a request; everything else is accepted and ignored."""

    messages: msgspec.Raw
    model: str = ""
    tools: msgspec.Raw = _NULL
    functions: msgspec.Raw = _NULL
    tool_choice: msgspec.Raw = _NULL
    function_call: msgspec.Raw = _NULL
    parallel_tool_calls: bool | None = None
    response_format: ResponseFormat | None = None
    stop: str | list[str] | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    n: int | None = None


class Named(msgspec.Struct):
    """Something that has a name."""

    name: str


class AllowedTools(msgspec.Struct):
    """A tool choice that is a list."""

    mode: str = "auto"
    tools: list[NamedTool] = []


class NamedTool(msgspec.Struct):
    """A tool choice that is an object, or a member of one that is a list."""

    type: str = "function"
    function: Named | None = None
    allowed_tools: AllowedTools | None = None


class ToolFunction(msgspec.Struct):
    """A function as it is offered."""

    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None


class Tool(msgspec.Struct):
    """One of the tools offered."""

    function: ToolFunction
    type: str = "function"


_TOOLS: msgspec.json.Decoder[list[Tool] | None] = msgspec.json.Decoder(list[Tool] | None)
_FUNCTIONS: msgspec.json.Decoder[list[ToolFunction]] = msgspec.json.Decoder(list[ToolFunction])
_CHOICE: msgspec.json.Decoder[str | NamedTool | None] = msgspec.json.Decoder(str | NamedTool | None)
_FUNCTION_CALL: msgspec.json.Decoder[str | Named | None] = msgspec.json.Decoder(str | Named | None)
_FORM = Form(
    NAME, msgspec.json.Decoder(Request), "messages", lambda request: request.messages, parse_message
)


def parse(body: bytes, caches: RequestCaches, model: str = "") -> Conversation:
    """The conversation in a request body; raises `ApiError`."""
    transcript = read(_FORM, body, caches)
    request, state = transcript.request, transcript.state
    _check(request, state, model)
    legacy = bytes(request.functions) != b"null" and bytes(request.tools) == b"null"
    tools, tool_tokens = (
        caches.read_tools(NAME, bytes(request.functions), _functions)
        if legacy
        else caches.read_tools(NAME, bytes(request.tools), _tools)
    )
    choice = _function_choice(request) if legacy else _tool_choice(request)
    names = [tool.name for tool in tools]
    violations, notes = judge((*finish(state, names), *names_twice(names)), _REFUSED, openai.NOTED)
    return Conversation(
        **transcript.fields(tool_tokens),
        model=request.model or model,
        tools=tools if choice == FREE else allowed(tools, choice),
        max_output=request.max_completion_tokens or request.max_tokens,
        stream=bool(request.stream),
        violations=violations,
        notes=notes,
        options={
            "include_usage": bool(request.stream_options and request.stream_options.include_usage),
            "n": request.n or 1,
            "legacy": legacy,
            "stop": _stop(request),
            "choice": choice,
            "offered": tools,
            **_form(request.response_format),
        },
    )


def _refuse(violation: Violation) -> ApiError:
    """The service's 400 for a broken transcript."""
    where = violation.where or f"messages[{violation.index}]"
    return invalid(f"Invalid '{where}': {violation.detail}.", where)


def _check(request: Request, state: State, model: str) -> None:
    """Raise `ApiError` for what the service does not take."""
    if not (request.model or model):
        raise missing("model")
    if not state.messages:
        raise invalid(
            "Invalid 'messages': an empty list; there must be at least one message.",
            "messages",
            "empty_array",
        )
    for name in ("max_tokens", "max_completion_tokens", "n"):
        value = getattr(request, name)
        if value is not None and value < 1:
            raise invalid(
                f"Invalid '{name}': expected a value >= 1, but got {value}.",
                name,
                "integer_below_min_value",
            )
    if request.n is not None and request.n > _MOST_CHOICES:
        raise invalid(
            f"Invalid 'n': expected a value <= {_MOST_CHOICES}, but got {request.n}.",
            "n",
            "integer_above_max_value",
        )


def _tools(raw: bytes) -> tuple[Offered, ...]:
    tools = decode(raw, _TOOLS, "tools") or []
    for index, tool in enumerate(tools):
        check_tool_name(tool.function.name, f"tools[{index}].function.name")
    return tuple(_offered(tool.function) for tool in tools)


def _functions(raw: bytes) -> tuple[Offered, ...]:
    functions = decode(raw, _FUNCTIONS, "functions")
    for index, function in enumerate(functions):
        check_tool_name(function.name, f"functions[{index}].name")
    return tuple(map(_offered, functions))


def _offered(function: ToolFunction) -> Offered:
    return Offered(function.name, function.description, function.parameters)


def _tool_choice(request: Request) -> Choice:
    choice = decode(bytes(request.tool_choice), _CHOICE, "tool_choice")
    single = request.parallel_tool_calls is False
    if isinstance(choice, NamedTool) and choice.allowed_tools is not None:
        names = [tool.function.name for tool in choice.allowed_tools.tools if tool.function]
        return Choice(choice.allowed_tools.mode, tuple(names), single)
    if isinstance(choice, NamedTool):
        return Choice("required", (choice.function.name,) if choice.function else (), single)
    return Choice(choice or "auto", (), single)


def _function_choice(request: Request) -> Choice:
    """The choice in the old form, `function_call`: one call at most."""
    choice = decode(bytes(request.function_call), _FUNCTION_CALL, "function_call")
    if isinstance(choice, Named):
        return Choice("required", (choice.name,), single=True)
    return Choice(choice or "auto", single=True)


def _stop(request: Request) -> tuple[str, ...]:
    """The stop words; raises `ApiError` for too many."""
    words = [request.stop] if isinstance(request.stop, str) else request.stop or []
    if len(words) > _MOST_STOPS:
        raise invalid(
            f"Invalid 'stop': at most {_MOST_STOPS} words.", "stop", "array_above_max_length"
        )
    return tuple(word for word in words if word)


def _form(response_format: ResponseFormat | None) -> dict[str, Any]:
    """The form that the answer must have."""
    schema = (
        response_format.json_schema.schema
        if response_format and response_format.json_schema
        else None
    )
    kind = response_format.type if response_format else "text"
    if kind not in ("text", "json_object", "json_schema"):
        raise invalid(
            f"Invalid value: '{kind}'. 'response_format.type' is text, json_object or json_schema.",
            "response_format.type",
            "invalid_value",
        )
    return {"json_object": kind != "text", "json_schema": schema if kind == "json_schema" else None}


def _render_stream_error(kind: str, message: str, number: int) -> Frame:
    error = {"message": message, "type": STREAM_ERRORS[kind], "param": None, "code": None}
    return event({"error": error})


CHAT = DIALECTS.add(
    NAME,
    Dialect(
        name=NAME,
        vendor=openai.VENDOR,
        shape="choices",
        paths=("/chat/completions",),
        asides={"/embeddings": embeddings.answer},
        token_names=TokenNames("prompt_tokens", "completion_tokens", "total_tokens"),
        requests_left_header=openai.REQUESTS_LEFT,
        refused=_REFUSED,
        noted=openai.NOTED,
        parse=parse,
        refuse=_refuse,
        render_whole=render_whole,
        render_stream=render_stream,
        render_error=openai.render_error,
        render_stream_error=_render_stream_error,
        context_exceeded=lambda tokens, limit: openai.context_exceeded(tokens, limit, "messages"),
        render_models=openai.render_models,
        render_model=openai.render_model,
        read_whole=read_whole,
        read_stream=read_stream,
        service_headers=openai.service_headers,
    ),
)
