"""Chat completions: a finished reply as one object or as chunks.

`n` choices are the same reply n times: a script says one thing. A request with the old
`functions` in place of `tools` is answered in kind.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from fakeprovider.completion import Completion, Tally
from fakeprovider.conversation import Call, Conversation
from fakeprovider.protocols.dialect import CREATED, Frame
from fakeprovider.replies import Finish, Refusal, Text, Thinking, WebSearch
from fakeprovider.tokens import pieces

FINISH_REASONS: Final[dict[Finish, str]] = {
    "stop": "stop",
    "tool_calls": "tool_calls",
    "length": "length",
    "content_filter": "content_filter",
    "refusal": "stop",  # as documented: the words stand in `refusal`
    "stop_sequence": "stop",
    "pause": "stop",
    "context_window": "length",
}
_FINGERPRINT = "fp_fakeprovider"
_DELTA = {Text: "content", Refusal: "refusal", Thinking: "reasoning_content"}
_OPENED: Final = (("content", Text), ("refusal", Refusal))
_encode = msgspec.json.Encoder().encode


def render_whole(conversation: Conversation, completion: Completion) -> bytes:
    """A `chat.completion` object."""
    choice = {
        "message": _message(conversation, completion),
        "logprobs": None,
        "finish_reason": _finish_reason(conversation, completion),
    }
    choices = [{"index": index, **choice} for index in range(conversation.options["n"])]
    envelope = _envelope(completion, "chat.completion")
    usage = _usage(completion.usage.times(conversation.options["n"]))
    return _encode({**envelope, "choices": choices, "usage": usage})


def render_stream(conversation: Conversation, completion: Completion) -> Iterator[Frame]:
    """`chat.completion.chunk` events: role, deltas in the reply's order, finish, usage, done.

    The choices take turns, delta by delta.
    """
    envelope = _envelope(completion, "chat.completion.chunk")
    choices = conversation.options["n"]
    with_usage = conversation.options["include_usage"]
    if with_usage:
        envelope["usage"] = None
    for delta, carried in _deltas(conversation, completion):
        for index in range(choices):
            yield _chunk(envelope, index, delta, tokens=carried)
    reason = _finish_reason(conversation, completion)
    for index in range(choices):
        yield _chunk(envelope, index, {}, reason)
    if with_usage:
        yield event({**envelope, "choices": [], "usage": _usage(completion.usage.times(choices))})
    yield Frame(b"data: [DONE]\n\n")


def _message(conversation: Conversation, completion: Completion) -> dict[str, Any]:
    message: dict[str, Any] = {
        "role": "assistant",
        "content": _joined(completion, Text),
        "refusal": _joined(completion, Refusal),
        "annotations": [],
    }
    thinking = _joined(completion, Thinking)
    if thinking:
        message["reasoning_content"] = thinking
    if completion.calls and conversation.options["legacy"]:
        message["function_call"] = _function(completion.calls[0])
    elif completion.calls:
        message["tool_calls"] = [_call(call) for call in completion.calls]
    return message


def _finish_reason(conversation: Conversation, completion: Completion) -> str:
    if completion.finish == "tool_calls" and conversation.options["legacy"]:
        return "function_call"
    return FINISH_REASONS[completion.finish]


def _envelope(completion: Completion, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-fake{completion.position}",
        "object": kind,
        "created": CREATED,
        "model": completion.model,
        "service_tier": "default",
        "system_fingerprint": _FINGERPRINT,
    }


def _joined(completion: Completion, kind: type[Text | Refusal | Thinking]) -> str | None:
    texts = [part.text for part in completion.parts if isinstance(part, kind)]
    return "".join(texts) if texts else None


def _function(call: Call) -> dict[str, Any]:
    return {"name": call.name, "arguments": call.arguments}


def _call(call: Call) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": _function(call)}


def _deltas(
    conversation: Conversation, completion: Completion
) -> Iterator[tuple[dict[str, Any], int]]:
    """Deltas and the tokens they carry, a token each but for a call's frame."""
    # A stream adds up to null only where it never says anything.
    said = {key: None if _joined(completion, kind) is None else "" for key, kind in _OPENED}
    yield {"role": "assistant", **said}, 0
    index = 0
    for part in completion.parts:
        if isinstance(part, WebSearch):
            continue  # what the service does itself has no place in this dialect
        if not isinstance(part, Call):
            key = _DELTA[type(part)]
            yield from (({key: piece}, 1) for piece in pieces(part.text))
        elif not conversation.options["legacy"]:
            yield from _call_deltas(index, part)
            index += 1
        elif part is completion.calls[0]:
            yield from _function_deltas(part)


def _call_deltas(index: int, call: Call) -> Iterator[tuple[dict[str, Any], int]]:
    opening = {"index": index, **_call(Call(call.id, call.name, ""))}
    yield {"tool_calls": [opening]}, 1
    for piece in pieces(call.arguments):
        yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}, 1


def _function_deltas(call: Call) -> Iterator[tuple[dict[str, Any], int]]:
    yield {"function_call": {"name": call.name, "arguments": ""}}, 1
    for piece in pieces(call.arguments):
        yield {"function_call": {"arguments": piece}}, 1


def _chunk(
    envelope: dict[str, Any],
    index: int,
    delta: dict[str, Any],
    finish: str | None = None,
    tokens: int = 0,
) -> Frame:
    choice = {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish}
    return event({**envelope, "choices": [choice]}, tokens)


def event(data: dict[str, Any], tokens: int = 0) -> Frame:
    """One event, which has no name in this dialect."""
    return Frame(b"data: " + _encode(data) + b"\n\n", tokens)


def _usage(tally: Tally) -> dict[str, Any]:
    """Cached tokens are part of the prompt."""
    return {
        "prompt_tokens": tally.prompt,
        "completion_tokens": tally.completion,
        "total_tokens": tally.total,
        "prompt_tokens_details": {
            "cached_tokens": tally.cached,
            "cache_write_tokens": tally.written,
            "audio_tokens": 0,
        },
        "completion_tokens_details": {
            "reasoning_tokens": tally.reasoning,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }
