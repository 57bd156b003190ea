"""Responses: `POST /responses`, whole and streamed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from fakeprovider.completion import Completion
from fakeprovider.conversation import ContinuedConversation, Conversation, Offered, Violation
from fakeprovider.errors import ApiError, invalid
from fakeprovider.fitting.demands import FREE, Choice, allowed
from fakeprovider.parsing.caches import RequestCaches
from fakeprovider.parsing.fold import Entry, State, finish, judge, names_twice
from fakeprovider.parsing.request_reader import Form, Transcript, decode, read, read_after
from fakeprovider.protocols import openai
from fakeprovider.protocols.dialect import DIALECTS, Dialect, Frame, TokenNames
from fakeprovider.protocols.openai import STREAM_ERRORS, check_tool_name, missing
from fakeprovider.protocols.responses.history import (
    Carried,
    parse_item,
    parse_text,
    read_response_id,
)
from fakeprovider.protocols.responses.rendering import (
    frame,
    items,
    read_stream,
    read_whole,
    render_item,
    render_stream,
    response,
)

NAME: Final = "responses"

_NULL = msgspec.Raw(b"null")
_encode = msgspec.json.Encoder().encode


class TextFormat(msgspec.Struct):
    """The form of the answer."""

    type: str = "text"
    schema: dict[str, Any] | None = None


class TextConfig(msgspec.Struct):
    """How text is to be given."""

    format: TextFormat | None = None


class NamedTool(msgspec.Struct):
    """A tool choice that is an object."""

    type: str
    name: str | None = None
    mode: str | None = None
    tools: list[NamedTool] = []


class Request(msgspec.Struct):
    """What is read of a request; everything else is accepted and ignored.

    What the response repeats is kept as it came.
    """

    input: msgspec.Raw
    model: str = ""
    instructions: str | None = None
    tools: msgspec.Raw = _NULL
    tool_choice: msgspec.Raw = _NULL
    text: msgspec.Raw = _NULL
    reasoning: msgspec.Raw = _NULL
    metadata: msgspec.Raw = _NULL
    previous_response_id: str | None = None
    conversation: msgspec.Raw = _NULL
    stream: bool | None = None
    store: bool | None = None
    background: bool | None = None
    include: list[str] | None = None
    max_output_tokens: int | None = None
    max_tool_calls: int | None = None
    parallel_tool_calls: bool | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_logprobs: int | None = None
    truncation: str | None = None
    service_tier: str | None = None
    prompt_cache_key: str | None = None
    safety_identifier: str | None = None
    user: str | None = None


class Tool(msgspec.Struct):
    """One of the tools offered; those that the service itself runs have other types."""

    type: str
    name: str | None = None
    description: str | None = None
    parameters: dict[str, Any] | None = None


_TOOLS: msgspec.json.Decoder[list[Tool] | None] = msgspec.json.Decoder(list[Tool] | None)
_CHOICE: msgspec.json.Decoder[str | NamedTool | None] = msgspec.json.Decoder(str | NamedTool | None)
_TEXT: msgspec.json.Decoder[TextConfig | None] = msgspec.json.Decoder(TextConfig | None)


def _items(request: Request) -> msgspec.Raw:
    """The input as a list: a string is a message of the user."""
    if bytes(request.input).startswith(b'"'):
        return msgspec.Raw(b'[{"role":"user","content":%b}]' % bytes(request.input))
    return request.input


_FORM = Form(NAME, msgspec.json.Decoder(Request), "input", _items, parse_item)


def parse(body: bytes, caches: RequestCaches, model: str = "") -> Conversation:
    """The conversation in a request body; raises `ApiError`."""
    carried: list[Carried] = []

    def begin(request: Request) -> State:
        if request.previous_response_id is None:
            return State()
        carried.append(read_response_id(request.previous_response_id))
        return carried[0].state()

    continues = b'"previous_response_id"' in body
    transcript = read_after(_FORM, body, caches, begin) if continues else read(_FORM, body, caches)
    _check(transcript.request)
    fields = _fields(transcript, caches, model)
    if not carried:
        return Conversation(**fields)
    _check_new(transcript.state, carried[0])
    fields["options"]["script"] = carried[0].script
    fields["history"] = None
    return ContinuedConversation(**fields, earlier_turns=carried[0].since_user)


def count_tokens(
    body: bytes,
    caches: RequestCaches,
    model: str = "",
    recount: Callable[[Conversation], Conversation] = lambda conversation: conversation,
) -> tuple[Conversation, bytes]:
    """The reply to `POST /responses/input_tokens`: what the same request would report as input."""
    conversation = recount(parse(body, caches, model))
    counted = {"object": "response.input_tokens", "input_tokens": conversation.prompt_tokens}
    return conversation, _encode(counted)


def _fields(transcript: Transcript[Request], caches: RequestCaches, model: str) -> dict[str, Any]:
    """The fields of the conversation."""
    request, state = transcript.request, transcript.state
    instructions = _instructions(request, caches)
    if not (request.model or model):
        raise missing("model")
    if not state.messages and not instructions:
        raise invalid(
            "Invalid 'input': there must be at least one item that is a message, a call or the "
            "output of one.",
            "input",
            "empty_array",
        )
    tools, tool_tokens = caches.read_tools(NAME, bytes(request.tools), _offered)
    choice = _choice(request)
    names = [tool.name for tool in tools]
    flaws = (*finish(state, names), *names_twice(names))
    violations, notes = judge(flaws, openai.REFUSED, openai.NOTED)
    return {
        **transcript.fields(tool_tokens, instructions),
        "model": request.model or model,
        "tools": tools if choice == FREE else allowed(tools, choice),
        "max_output": request.max_output_tokens,
        "stream": bool(request.stream),
        "violations": violations,
        "notes": notes,
        "options": {"choice": choice, "offered": tools, **_options(request, state)},
    }


def _refuse(violation: Violation) -> ApiError:
    """The service's 400 for a broken transcript."""
    where = violation.where or f"input[{max(0, violation.index)}]"
    return invalid(f"Invalid '{where}': {violation.detail}.", where)


def _render_whole(conversation: Conversation, completion: Completion) -> bytes:
    """A `response` object."""
    output = [render_item(conversation, item) for item in items(conversation, completion)]
    return _encode(response(conversation, completion, output))


def _check(request: Request) -> None:
    if request.max_output_tokens is not None and request.max_output_tokens < 1:
        raise invalid(
            "Invalid 'max_output_tokens': expected a value >= 1, but got "
            f"{request.max_output_tokens}.",
            "max_output_tokens",
            "integer_below_min_value",
        )
    if bytes(request.conversation) != b"null":
        raise invalid(
            "Conversations are not kept here; send the items as 'input'.",
            "conversation",
            "unsupported_parameter",
        )
    if request.background:
        raise invalid("Only 'background': false is served.", "background", "unsupported_value")


def _check_new(state: State, carried: Carried) -> None:
    """What the previous response holds may not be sent again (MacPaw/OpenAI#432)."""
    before = {call_id for call_id, _ in carried.pending}
    again = [call.id for message in state.messages for call in message.calls if call.id in before]
    if again:
        raise invalid(
            f"Duplicate item found: call {again[0]!r} is part of the previous response. Send "
            "only what is new after 'previous_response_id'.",
            "input",
        )


def _instructions(request: Request, caches: RequestCaches) -> tuple[Entry, ...]:
    """Instructions count as a system message at the head of the input."""
    if not request.instructions:
        return ()
    return caches.read(NAME, _encode(request.instructions), {}, parse_text)


def _options(request: Request, state: State) -> dict[str, Any]:
    """What rendering needs of the request."""
    text = decode(bytes(request.text), _TEXT, "text")
    form = text.format if text else None
    return {
        "echo": _echo(request),
        "store": request.store is not False,
        "encrypted_reasoning": "reasoning.encrypted_content" in (request.include or ()),
        "tokens": state.tokens,
        "json_object": bool(form and form.type == "json_object"),
        "json_schema": form.schema if form and form.type == "json_schema" else None,
    }


def _choice(request: Request) -> Choice:
    """A choice of a tool that the service itself runs is none of ours."""
    choice = decode(bytes(request.tool_choice), _CHOICE, "tool_choice")
    single = request.parallel_tool_calls is False
    if not isinstance(choice, NamedTool):
        return Choice(choice or "auto", (), single)
    if choice.type == "allowed_tools":
        names = [tool.name for tool in choice.tools if tool.name]
        return Choice(choice.mode or "auto", tuple(names), single)
    return Choice("required", (choice.name,), single) if choice.name else Choice("auto", (), single)


def _echo(request: Request) -> dict[str, Any]:
    """What a response repeats of its request, defaults filled in."""
    return {
        "instructions": request.instructions,
        "max_output_tokens": request.max_output_tokens,
        "max_tool_calls": request.max_tool_calls,
        "parallel_tool_calls": request.parallel_tool_calls is not False,
        "previous_response_id": request.previous_response_id,
        "prompt_cache_key": request.prompt_cache_key,
        "reasoning": _or(request.reasoning, b'{"effort":null,"summary":null}'),
        "safety_identifier": request.safety_identifier,
        "service_tier": "default",
        "store": request.store is not False,
        "temperature": 1.0 if request.temperature is None else request.temperature,
        "text": _or(request.text, b'{"format":{"type":"text"},"verbosity":"medium"}'),
        "tool_choice": _or(request.tool_choice, b'"auto"'),
        "tools": _or(request.tools, b"[]"),
        "top_logprobs": request.top_logprobs or 0,
        "top_p": 1.0 if request.top_p is None else request.top_p,
        "truncation": request.truncation or "disabled",
        "user": request.user,
        "metadata": _or(request.metadata, b"{}"),
    }


def _or(raw: msgspec.Raw, default: bytes) -> msgspec.Raw:
    """A field as it came, or its default in JSON."""
    return msgspec.Raw(default) if bytes(raw) == b"null" else raw


def _offered(raw: bytes) -> tuple[Offered, ...]:
    offered = []
    tools = decode(raw, _TOOLS, "tools") or []
    for index, tool in enumerate(tools):
        if tool.type not in ("function", "custom"):
            continue
        if tool.name is None:
            raise missing(f"tools[{index}].name")
        check_tool_name(tool.name, f"tools[{index}].name")
        offered.append(Offered(tool.name, tool.description, tool.parameters))
    return tuple(offered)


def _render_stream_error(kind: str, message: str, number: int) -> Frame:
    numbered = {"sequence_number": number, "code": STREAM_ERRORS[kind]}
    return frame("error", {**numbered, "message": message, "param": None})


RESPONSES = DIALECTS.add(
    NAME,
    Dialect(
        name=NAME,
        vendor=openai.VENDOR,
        shape="items",
        paths=("/responses",),
        asides={"/responses/input_tokens": count_tokens},
        token_names=TokenNames("input_tokens", "output_tokens", "total_tokens"),
        requests_left_header=openai.REQUESTS_LEFT,
        position_field="output_index",
        says_finish=False,
        refused=openai.REFUSED,
        noted=openai.NOTED,
        parse=parse,
        refuse=_refuse,
        render_whole=_render_whole,
        render_stream=render_stream,
        render_error=openai.render_error,
        render_stream_error=_render_stream_error,
        context_exceeded=lambda tokens, limit: openai.context_exceeded(tokens, limit, "input"),
        render_models=openai.render_models,
        render_model=openai.render_model,
        read_whole=read_whole,
        read_stream=read_stream,
        service_headers=openai.service_headers,
    ),
)
