"""Answers of a chat completions endpoint."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fakeprovider.recording.events import events
from fakeprovider.recording.written import NotAnAnswer, Said, Written, written, written_call

_TOLD = ("length", "content_filter")  # the other reasons follow from the rest


def whole(body: bytes) -> Written:
    """The reply in a `chat.completion`."""
    answer = json.loads(body)
    choice = answer["choices"][0]
    message = choice["message"]
    said: list[Said] = [("say", message.get("content") or ""), *_beside(message)]
    said += [
        written_call(one.get("id"), one["function"]["name"], one["function"]["arguments"])
        for one in _calls(message)
    ]
    return written(said, _finish(choice.get("finish_reason")), _usage(answer.get("usage")))


def streamed(body: bytes) -> Written:
    """The reply that the chunks add up to."""
    said: list[Said] = []
    calls: dict[int, dict[str, str]] = {}
    finish: str | None = None
    usage: dict[str, Any] = {}
    after: list[Said] = []
    for event in events(body):
        usage = _usage(event.get("usage")) or usage
        for choice in _first(event.get("choices", [])):
            delta = choice.get("delta") or {}
            (after if calls else said).append(("say", delta.get("content") or ""))
            said += _beside(delta)
            for part in _calls(delta):
                _take(part, calls)
            finish = choice.get("finish_reason") or finish
    if finish is None:
        raise NotAnAnswer("the stream broke off")
    made = [
        written_call(one["id"], one["name"], one["arguments"]) for _, one in sorted(calls.items())
    ]
    return written([*said, *made, *after], _finish(finish), usage)


def _first(choices: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """A script has one choice: several come in chunks of their own, told apart by their index."""
    return [choice for choice in choices if not choice.get("index")]


def _beside(message: Mapping[str, Any]) -> Iterator[Said]:
    yield "think", message.get("reasoning_content") or ""
    yield "refuse", message.get("refusal") or ""


def _calls(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The calls of a message, or of a piece of one; the old kind has one, without an id."""
    old = message.get("function_call")
    return message.get("tool_calls") or ([{"function": old}] if old else [])


def _take(part: Mapping[str, Any], calls: dict[int, dict[str, str]]) -> None:
    taken = calls.setdefault(part.get("index", 0), {"id": "", "name": "", "arguments": ""})
    function = part.get("function") or {}
    taken["id"] = part.get("id") or taken["id"]
    taken["name"] = function.get("name") or taken["name"]
    taken["arguments"] += function.get("arguments") or ""


def _finish(reason: str | None) -> str | None:
    return reason if reason in _TOLD else None


def _usage(usage: Mapping[str, Any] | None) -> dict[str, Any]:
    told = usage or {}
    return {name: told.get(name) for name in ("prompt_tokens", "completion_tokens") if name in told}
