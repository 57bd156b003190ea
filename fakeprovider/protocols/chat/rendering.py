"""Chat completions: a finished reply as one object or as chunks, and read back from either.

`n` choices are the same reply n times: a script says one thing. A request with the old
`functions` in place of `tools` is answered in kind.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from fakeprovider.completion import Completion, Tokens
from fakeprovider.conversation import Call, Conversation
from fakeprovider.protocols.answers import (
    NotAnAnswer,
    Said,
    Written,
    read_events,
    written,
    written_call,
)
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
    """What stands around the choices, in a body and in each chunk."""
    return {
        "id": f"chatcmpl-fake{completion.position}",
        "object": kind,
        "created": CREATED,
        "model": completion.model,
        "service_tier": "default",
        "system_fingerprint": _FINGERPRINT,
    }


def _joined(completion: Completion, kind: type[Text | Refusal | Thinking]) -> str | None:
    """The text of all parts of a kind; None if there are none."""
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
    opened = {key: None if _joined(completion, kind) is None else "" for key, kind in _OPENED}
    yield {"role": "assistant", **opened}, 0
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


def _usage(tokens: Tokens) -> dict[str, Any]:
    """Cached tokens are part of the prompt."""
    return {
        "prompt_tokens": tokens.prompt,
        "completion_tokens": tokens.completion,
        "total_tokens": tokens.total,
        "prompt_tokens_details": {
            "cached_tokens": tokens.cached,
            "cache_write_tokens": tokens.written,
            "audio_tokens": 0,
        },
        "completion_tokens_details": {
            "reasoning_tokens": tokens.reasoning,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


_SAID_FINISHES = ("length", "content_filter")  # the other reasons follow from the rest


def read_whole(body: bytes) -> Written:
    """The reply in a `chat.completion`."""
    answer = json.loads(body)
    choice = answer["choices"][0]
    message = choice["message"]
    said: list[Said] = [("say", message.get("content") or ""), *_beside(message)]
    said += [
        written_call(call.get("id"), call["function"]["name"], call["function"]["arguments"])
        for call in _read_calls(message)
    ]
    return written(
        said, _read_finish(choice.get("finish_reason")), _read_usage(answer.get("usage"))
    )


def read_stream(body: bytes) -> Written:
    """The reply that the chunks add up to."""
    said: list[Said] = []
    calls: dict[int, dict[str, str]] = {}
    finish: str | None = None
    usage: dict[str, Any] = {}
    after: list[Said] = []
    for event in read_events(body):
        usage = _read_usage(event.get("usage")) or usage
        for choice in _first(event.get("choices", [])):
            delta = choice.get("delta") or {}
            (after if calls else said).append(("say", delta.get("content") or ""))
            said += _beside(delta)
            for part in _read_calls(delta):
                _add_fragment(part, calls)
            finish = choice.get("finish_reason") or finish
    if finish is None:
        raise NotAnAnswer("the stream broke off")
    made = [
        written_call(call["id"], call["name"], call["arguments"])
        for _, call in sorted(calls.items())
    ]
    return written([*said, *made, *after], _read_finish(finish), usage)


def _first(choices: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """A script has one choice: several come in chunks of their own, told apart by their index."""
    return [choice for choice in choices if not choice.get("index")]


def _beside(message: Mapping[str, Any]) -> Iterator[Said]:
    """What stands beside the content."""
    yield "think", message.get("reasoning_content") or ""
    yield "refuse", message.get("refusal") or ""


def _read_calls(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The calls of a message, or of a piece of one; the old kind has one, without an id."""
    old = message.get("function_call")
    return message.get("tool_calls") or ([{"function": old}] if old else [])


def _add_fragment(part: Mapping[str, Any], calls: dict[int, dict[str, str]]) -> None:
    """Add a fragment to the call that it is part of."""
    taken = calls.setdefault(part.get("index", 0), {"id": "", "name": "", "arguments": ""})
    function = part.get("function") or {}
    taken["id"] = part.get("id") or taken["id"]
    taken["name"] = function.get("name") or taken["name"]
    taken["arguments"] += function.get("arguments") or ""


def _read_finish(reason: str | None) -> str | None:
    """The finish reason, if a script must say it."""
    return reason if reason in _SAID_FINISHES else None


def _read_usage(usage: Mapping[str, Any] | None) -> dict[str, Any]:
    """Usage in a script's terms."""
    counts = usage or {}
    names = ("prompt_tokens", "completion_tokens")
    return {name: counts[name] for name in names if name in counts}
