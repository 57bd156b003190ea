"""Chat completions: `POST /chat/completions`, whole and streamed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from fakeprovider import tokens
from fakeprovider.completion import Completion, Tally
from fakeprovider.conversation import Call, Conversation, Offered, Violation
from fakeprovider.counting import tools_count
from fakeprovider.errors import ApiError, invalid
from fakeprovider.fold import finish
from fakeprovider.memory import Memory
from fakeprovider.protocols.base import CREATED, Frame
from fakeprovider.protocols.chat_messages import TOOL_NAME, parse_message
from fakeprovider.replies import Refusal, Text, Thinking
from fakeprovider.strict import judge
from fakeprovider.transcript import Form, read
from fakeprovider.wire import decode

NAME: Final = "chat"
PATHS: Final = ("/chat/completions",)

_FINISH = {
    "stop": "stop",
    "tool_calls": "tool_calls",
    "length": "length",
    "content_filter": "content_filter",
    "refusal": "stop",  # as documented: the words stand in `refusal`
    "stop_sequence": "stop",
    "pause": "stop",
    "context_window": "length",
}
_ERROR_TYPE = {"rate_limit": "rate_limit_error", "server": "server_error"}
_FINGERPRINT = "fp_fakeprovider"
_encode = msgspec.json.Encoder().encode


class StreamOptions(msgspec.Struct):
    """How to stream."""

    include_usage: bool | None = None


class Request(msgspec.Struct):
    """What is read of a request; everything else is accepted and ignored."""

    messages: msgspec.Raw
    model: str = ""
    tools: msgspec.Raw = msgspec.Raw(b"null")
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    n: int | None = None


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
_FORM = Form(
    NAME, msgspec.json.Decoder(Request), "messages", lambda request: request.messages, parse_message
)


def parse(body: bytes, memory: Memory, model: str = "") -> Conversation:
    """The conversation in a request body; raises `ApiError`."""
    transcript = read(_FORM, body, memory)
    request, state = transcript.request, transcript.state
    if not (request.model or model):
        raise invalid("Missing required parameter: 'model'.", "model", "missing_required_parameter")
    if not state.messages:
        raise invalid(
            "Invalid 'messages': an empty list; there must be at least one message.",
            "messages",
            "empty_array",
        )
    tools, tool_tokens = _tools(bytes(request.tools), memory)
    _check_numbers(request)
    flaws = finish(state, [tool.name for tool in tools])
    violations, notes = judge(flaws, NAME)
    return Conversation(
        model=request.model or model,
        messages=state.messages,
        tools=tools,
        turn=state.position,
        position=state.position,
        prompt_tokens=state.prompt_tokens + tool_tokens,
        max_output=request.max_completion_tokens or request.max_tokens,
        stream=bool(request.stream),
        violations=violations,
        notes=notes,
        options={"include_usage": _include_usage(request)},
        digest=transcript.digest,
    )


def refuse(violation: Violation) -> ApiError:
    """The service's 400 for a broken transcript."""
    where = f"messages[{violation.index}]"
    return invalid(f"Invalid '{where}': {violation.detail}.", where)


def render_whole(conversation: Conversation, completion: Completion) -> bytes:
    """A `chat.completion` object."""
    message: dict[str, Any] = {
        "role": "assistant",
        "content": _content(completion),
        "refusal": _joined(completion, Refusal),
        "annotations": [],
    }
    thinking = _joined(completion, Thinking)
    if thinking is not None:
        message["reasoning_content"] = thinking
    if completion.calls:
        message["tool_calls"] = [_call(call) for call in completion.calls]
    choice = {
        "index": 0,
        "message": message,
        "logprobs": None,
        "finish_reason": _FINISH[completion.finish],
    }
    envelope = _envelope(completion, "chat.completion")
    return _encode({**envelope, "choices": [choice], "usage": _usage(completion.usage)})


def render_stream(conversation: Conversation, completion: Completion) -> Iterator[Frame]:
    """`chat.completion.chunk` events: role, deltas in the reply's order, finish, usage, done."""
    envelope = _envelope(completion, "chat.completion.chunk")
    with_usage = conversation.options["include_usage"]
    if with_usage:
        envelope["usage"] = None
    first = {"role": "assistant", "content": _opening(completion), "refusal": None}
    yield _chunk(envelope, first)
    for delta, carried in _deltas(completion):
        yield _chunk(envelope, delta, tokens=carried)
    yield _chunk(envelope, {}, _FINISH[completion.finish])
    if with_usage:
        yield _event({**envelope, "choices": [], "usage": _usage(completion.usage)})
    yield Frame(b"data: [DONE]\n\n")


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


def render_models(names: tuple[str, ...]) -> bytes:
    """A `list` of models."""
    models = [
        {"id": name, "object": "model", "created": CREATED, "owned_by": "fakeprovider"}
        for name in names
    ]
    return _encode({"object": "list", "data": models})


def _tools(raw: bytes, memory: Memory) -> tuple[tuple[Offered, ...], int]:
    if raw == b"null":
        return (), 0
    key = (NAME, raw)
    found = memory.tools.get(key)
    if found is None:
        offered = _offered(raw)
        found = (offered, tools_count(offered))
        memory.tools.put(
            key, found, 8 * len(raw) + 1000
        )  # parsed JSON takes several times its text
    return found


def _offered(raw: bytes) -> tuple[Offered, ...]:
    tools = decode(raw, _TOOLS, "tools") or []
    for index, tool in enumerate(tools):
        if not TOOL_NAME.fullmatch(tool.function.name):
            param = f"tools[{index}].function.name"
            raise invalid(
                f"Invalid '{param}': {tool.function.name!r} is not 1 to 64 of a-zA-Z0-9_-.",
                param,
                "invalid_value",
            )
    return tuple(
        Offered(tool.function.name, tool.function.description, tool.function.parameters)
        for tool in tools
    )


def _check_numbers(request: Request) -> None:
    for name in ("max_tokens", "max_completion_tokens"):
        value = getattr(request, name)
        if value is not None and value < 1:
            raise invalid(
                f"Invalid '{name}': expected a value >= 1, but got {value}.",
                name,
                "integer_below_min_value",
            )
    if request.n not in (None, 1):
        raise invalid("Only n = 1 is served.", "n", "unsupported_value")


def _include_usage(request: Request) -> bool:
    return bool(request.stream_options and request.stream_options.include_usage)


def _envelope(completion: Completion, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-fake{completion.position}",
        "object": kind,
        "created": CREATED,
        "model": completion.model,
        "service_tier": "default",
        "system_fingerprint": _FINGERPRINT,
    }


def _content(completion: Completion) -> str | None:
    return _joined(completion, Text)


def _joined(completion: Completion, kind: type[Text | Refusal | Thinking]) -> str | None:
    texts = [part.text for part in completion.parts if isinstance(part, kind)]
    return "".join(texts) if texts else None


def _opening(completion: Completion) -> str | None:
    """The first delta's content: a stream adds up to null only if it never says anything."""
    return None if _content(completion) is None else ""


def _call(call: Call) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}


def _deltas(completion: Completion) -> Iterator[tuple[dict[str, Any], int]]:
    """Deltas and the tokens they carry, a token each but for a call's frame."""
    index = 0
    for part in completion.parts:
        if isinstance(part, Call):
            yield from _call_deltas(index, part)
            index += 1
        else:
            key = _DELTA[type(part)]
            yield from (({key: piece}, 1) for piece in tokens.pieces(part.text))


_DELTA = {Text: "content", Refusal: "refusal", Thinking: "reasoning_content"}


def _call_deltas(index: int, call: Call) -> Iterator[tuple[dict[str, Any], int]]:
    opening = {"index": index, **_call(Call(call.id, call.name, ""))}
    yield {"tool_calls": [opening]}, 1
    for piece in tokens.pieces(call.arguments):
        yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}, 1


def _chunk(
    envelope: dict[str, Any], delta: dict[str, Any], finish: str | None = None, tokens: int = 0
) -> Frame:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return _event({**envelope, "choices": [choice]}, tokens)


def _event(data: dict[str, Any], tokens: int = 0) -> Frame:
    return Frame(b"data: " + _encode(data) + b"\n\n", tokens)


def _usage(tally: Tally) -> dict[str, Any]:
    return {
        "prompt_tokens": tally.prompt,
        "completion_tokens": tally.completion,
        "total_tokens": tally.total,
        "prompt_tokens_details": {"cached_tokens": tally.cached, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": tally.reasoning,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }
