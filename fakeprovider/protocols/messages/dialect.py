"""Anthropic Messages: `POST /messages`, whole and streamed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from fakeprovider.conversation import Conversation, Message, Offered, Violation
from fakeprovider.errors import ApiError, invalid
from fakeprovider.fitting.demands import FREE, Choice, allowed
from fakeprovider.parsing.caches import RequestCaches
from fakeprovider.parsing.fold import Entry, State, finish, judge, names_twice
from fakeprovider.parsing.prompt_cache import Mark
from fakeprovider.parsing.request_reader import Form, Transcript, decode, read
from fakeprovider.protocols import anthropic
from fakeprovider.protocols.anthropic import thinking_budget, too_many_marks
from fakeprovider.protocols.dialect import DIALECTS, Dialect, Frame, TokenNames
from fakeprovider.protocols.messages.history import TOOL_NAME, parse_message, parse_system
from fakeprovider.protocols.messages.rendering import (
    frame,
    read_stream,
    read_whole,
    render_stream,
    render_whole,
)

NAME: Final = "messages"

_RUN_BY_THE_SERVICE = ("web_search", "web_fetch", "code_execution", "tool_search", "mcp")
_MODES = {"auto": "auto", "any": "required", "none": "none", "tool": "required"}
_MARK = b'"cache_control"'
_encode = msgspec.json.Encoder().encode


class ToolChoice(msgspec.Struct):
    """Which tools may be used."""

    type: str = "auto"
    name: str | None = None
    disable_parallel_tool_use: bool | None = None


class OutputFormat(msgspec.Struct):
    """The form of the answer."""

    type: str = ""
    schema: dict[str, Any] | None = None


class OutputConfig(msgspec.Struct):
    """How the answer is to be given."""

    format: OutputFormat | None = None


class Thinking(msgspec.Struct):
    """Whether thinking is on."""

    type: str = "disabled"
    budget_tokens: int | None = None


class Countable(msgspec.Struct):
    """What is read of a request for a count."""

    messages: msgspec.Raw
    model: str
    system: msgspec.Raw = msgspec.Raw(b"null")
    tools: msgspec.Raw = msgspec.Raw(b"null")
    thread: msgspec.Raw = msgspec.Raw(b"null")


class Request(Countable, kw_only=True):
    """What is read of a request; everything else is accepted and ignored."""

    max_tokens: int
    stream: bool | None = None
    stop_sequences: list[str] | None = None
    tool_choice: ToolChoice | None = None
    thinking: Thinking | None = None
    output_config: OutputConfig | None = None
    output_format: OutputFormat | None = None


class Tool(msgspec.Struct):
    """One of the tools offered; those that the service itself runs have a dated `type`."""

    name: str | None = None
    type: str | None = None
    description: str | None = None
    input_schema: dict[str, Any] | None = None


_TOOLS: msgspec.json.Decoder[list[Tool] | None] = msgspec.json.Decoder(list[Tool] | None)
_FORM = Form(
    NAME, msgspec.json.Decoder(Request), "messages", lambda request: request.messages, parse_message
)
_COUNTED = Form(
    NAME,
    msgspec.json.Decoder(Countable),
    "messages",
    lambda request: request.messages,
    parse_message,
)


def parse(body: bytes, caches: RequestCaches, model: str = "") -> Conversation:
    """The conversation in a request body; raises `ApiError`."""
    transcript = read(_FORM, body, caches)
    request = transcript.request
    if request.max_tokens < 1:
        raise invalid("Input should be greater than or equal to 1.", "max_tokens", "invalid_value")
    form = request.output_format or (request.output_config and request.output_config.format)
    thinking = bool(request.thinking and request.thinking.type != "disabled")
    return _conversation(
        body,
        transcript,
        caches,
        _choice(request.tool_choice or ToolChoice()),
        max_output=request.max_tokens,
        stream=bool(request.stream),
        stop=tuple(word for word in request.stop_sequences or () if word),
        thinking=thinking,
        unthought=_unthought(transcript.state) if thinking else None,
        json_schema=form.schema if form and form.type == "json_schema" else None,
        cache_mark=_mark(request, body),
    )


def count_tokens(
    body: bytes,
    caches: RequestCaches,
    model: str = "",
    recount: Callable[[Conversation], Conversation] = lambda conversation: conversation,
) -> tuple[Conversation, bytes]:
    """The reply to `POST /messages/count_tokens`: what the same request would report as input."""
    conversation = recount(_conversation(body, read(_COUNTED, body, caches), caches, Choice()))
    return conversation, _encode({"input_tokens": conversation.prompt_tokens})


def _conversation(
    body: bytes,
    transcript: Transcript[Any],
    caches: RequestCaches,
    choice: Choice,
    max_output: int | None = None,
    stream: bool = False,
    **options: Any,
) -> Conversation:
    """The conversation, with what a count of tokens needs of a request, and further `options`."""
    request, state = transcript.request, transcript.state
    _check(request, state)
    system = _system(bytes(request.system), caches)
    tools, tool_tokens = caches.read_tools(NAME, bytes(request.tools), _offered)
    choice = _ours(choice, tools, bytes(request.tools))
    flaws = (*_flaws(state, system, tools), *too_many_marks(body), *_budget(request, tools))
    violations, notes = judge(flaws, anthropic.REFUSED, anthropic.NOTED)
    paused = _paused(state.messages)
    fields = transcript.fields(tool_tokens, system)
    fields["turn"] = fields["position"] = state.position - len(paused)
    return Conversation(
        **fields,
        model=request.model,
        tools=tools if choice == FREE else allowed(tools, choice),
        max_output=max_output,
        stream=stream,
        violations=violations,
        notes=notes,
        options={
            "choice": choice,
            "offered": tools,
            "searches_done": sum(paused),
            "tool_tokens": tool_tokens,
            "fixed_tokens": fields["prompt_tokens"] - state.prompt_tokens,
            **options,
        },
    )


def _check(request: Countable, state: State) -> None:
    """Raise `ApiError` for threads, and for no messages at all."""
    if bytes(request.thread) != b"null":
        raise _no_threads()
    if not state.messages:
        raise invalid("at least one message is required", "messages", "empty_array")


def _refuse(violation: Violation) -> ApiError:
    """The service's 400 for a broken transcript."""
    where = violation.where or f"messages[{violation.index}]"
    return invalid(violation.detail, where, violation.rule)


def _unthought(state: State) -> int | None:
    """Where the turn stands whose results end the transcript, if it has no thinking."""
    if not state.answered or state.messages[-1].opens_turn:
        return None
    last = next(message for message in reversed(state.messages) if message.role == "assistant")
    return None if last.thought else state.turn_at


def _paused(history: tuple[Message, ...]) -> list[int]:
    """The searches of each message that was sent back for the turn to go on where it paused."""
    searches: list[int] = []
    for message in reversed(history):
        if message.role != "assistant" or not message.searches:
            break
        searches.append(message.searches)
    return searches


def _mark(request: Countable, body: bytes) -> Mark:
    """How far the request asks for caching; a mark of the whole request moves with its end."""
    marks = body.count(_MARK)
    in_system, in_tools = (bytes(raw).count(_MARK) for raw in (request.system, request.tools))
    if marks > in_system + in_tools:
        return "messages"
    if in_system:
        return "system"
    return "tools" if in_tools else ""


def _choice(choice: ToolChoice) -> Choice:
    names = (choice.name,) if choice.type == "tool" and choice.name else ()
    mode = _MODES.get(choice.type, choice.type)
    return Choice(mode, names, bool(choice.disable_parallel_tool_use))


def _ours(choice: Choice, tools: tuple[Offered, ...], raw: bytes) -> Choice:
    """A choice of a tool that the service itself runs is none of ours."""
    if not choice.names or choice.names[0] in {tool.name for tool in tools}:
        return choice
    named = {tool.name for tool in decode(raw, _TOOLS, "tools") or []}
    return Choice("auto", (), choice.single) if choice.names[0] in named else choice


def _budget(request: Countable, tools: tuple[Offered, ...]) -> tuple[Violation, ...]:
    """What is wrong with the budget for thinking."""
    if not isinstance(request, Request) or request.thinking is None:
        return ()
    budget = request.thinking.budget_tokens if request.thinking.type == "enabled" else None
    return thinking_budget(budget, request.max_tokens, with_tools=bool(tools))


def _system(raw: bytes, caches: RequestCaches) -> tuple[Entry, ...]:
    return caches.read(NAME, raw, {}, parse_system)


def _flaws(
    state: State, system: tuple[Entry, ...], tools: tuple[Offered, ...]
) -> Iterable[Violation]:
    """A last assistant message may be empty: it is where the answer is to go on."""
    for entry in system:
        yield from (Violation(rule, 0, f"system: {detail}") for rule, detail in entry.flaws)
    names = [tool.name for tool in tools]
    for flaw in (*finish(state, names), *names_twice(names)):
        if flaw.rule not in ("null_content", "empty_content") or flaw.index != state.wire - 1:
            yield flaw


def _offered(raw: bytes) -> tuple[Offered, ...]:
    """The tools that the client runs itself."""
    offered = []
    tools = decode(raw, _TOOLS, "tools") or []
    for index, tool in enumerate(tools):
        if tool.name is None or (tool.type or "").startswith(_RUN_BY_THE_SERVICE):
            continue
        if not TOOL_NAME.fullmatch(tool.name):
            raise invalid(f"{tool.name!r} is not 1 to 128 of a-zA-Z0-9_-.", f"tools[{index}].name")
        offered.append(Offered(tool.name, tool.description, tool.input_schema))
    return tuple(offered)


def _no_threads() -> ApiError:
    """The refusal that makes the SDKs' tool runners send the whole history instead."""
    details = {"error_code": "thread_unsupported_request", "unsupported": ["thread"]}
    error = invalid(
        "Threads are not kept here; send the full conversation without `thread`.",
        code="thread_unsupported_request",
    )
    error.details = details
    return error


def _render_stream_error(kind: str, message: str, number: int) -> Frame:
    return frame("error", {"error": {"type": anthropic.STREAM_ERRORS[kind], "message": message}})


MESSAGES = DIALECTS.add(
    NAME,
    Dialect(
        name=NAME,
        vendor=anthropic.VENDOR,
        shape="blocks",
        paths=("/messages",),
        asides={"/messages/count_tokens": count_tokens},
        token_names=TokenNames("input_tokens", "output_tokens", None),
        requests_left_header=anthropic.REQUESTS_LEFT,
        client_header=anthropic.CLIENT_HEADER,
        position_field="index",
        refused=anthropic.REFUSED,
        noted=anthropic.NOTED,
        parse=parse,
        refuse=_refuse,
        render_whole=render_whole,
        render_stream=render_stream,
        render_error=anthropic.render_error,
        render_stream_error=_render_stream_error,
        context_exceeded=anthropic.context_exceeded,
        render_models=anthropic.render_models,
        render_model=anthropic.render_model,
        read_whole=read_whole,
        read_stream=read_stream,
        service_headers=anthropic.service_headers,
    ),
)
