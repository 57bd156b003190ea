"""Answers of a chat completions endpoint, whole or streamed, as a script's reply is written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from fakeprovider.arguments import parsed
from fakeprovider.replies import call

Written: TypeAlias = dict[str, Any]
"""A reply with the keys of a case of a YAML script."""


_LEGAL_ID = re.compile(r"[a-zA-Z0-9_-]{1,40}")


class NotAnAnswer(ValueError):
    """A body that is no whole answer of a chat completions endpoint."""


def read_answer(body: bytes, *, streamed: bool) -> Written:
    """The reply in a response body; raises `NotAnAnswer`."""
    try:
        return _streamed(body) if streamed else _whole(json.loads(body))
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise NotAnAnswer(f"{type(error).__name__}: {error}") from error


def _whole(body: Mapping[str, Any]) -> Written:
    choice = body["choices"][0]
    message = choice["message"]
    calls = [
        _call(one.get("id"), one["function"]["name"], one["function"]["arguments"])
        for one in message.get("tool_calls") or []
    ]
    words = {"say": message.get("content") or ""}
    return _written(words, calls, message, choice.get("finish_reason"), _usage(body.get("usage")))


def _streamed(body: bytes) -> Written:
    words: dict[str, str] = {"say": "", "then_say": ""}
    told = {"refusal": "", "reasoning_content": ""}
    calls: dict[int, dict[str, str]] = {}
    finish: str | None = None
    usage: dict[str, int] = {}
    for event in _events(body):
        usage = _usage(event.get("usage")) or usage
        for choice in event.get("choices", [])[:1]:
            delta = choice.get("delta") or {}
            words["then_say" if calls else "say"] += delta.get("content") or ""
            for name in told:
                told[name] += delta.get(name) or ""
            for part in delta.get("tool_calls") or []:
                _take(part, calls)
            finish = choice.get("finish_reason") or finish
    if finish is None:
        raise ValueError("the stream broke off")
    made = [_call(one["id"], one["name"], one["arguments"]) for _, one in sorted(calls.items())]
    return _written(words, made, told, finish, usage)


def _events(body: bytes) -> Iterator[Mapping[str, Any]]:
    for line in body.decode().splitlines():
        data = line.removeprefix("data:").strip()
        if line.startswith("data:") and data and data != "[DONE]":
            yield json.loads(data)


def _take(part: Mapping[str, Any], calls: dict[int, dict[str, str]]) -> None:
    taken = calls.setdefault(part.get("index", 0), {"id": "", "name": "", "arguments": ""})
    function = part.get("function") or {}
    taken["id"] = part.get("id") or taken["id"]
    taken["name"] = function.get("name") or taken["name"]
    taken["arguments"] += function.get("arguments") or ""


def _call(call_id: str | None, name: str, arguments: str) -> Written:
    """The call; arguments that are not the compact JSON that we write stay the text they are."""
    value = parsed(arguments)
    made: Written = {"tool": name}
    if value is None or call(name, value).arguments != arguments:
        made["arguments"] = arguments
    elif value:
        made["arguments"] = value
    return {**made, "id": call_id} if call_id and _LEGAL_ID.fullmatch(call_id) else made


def _usage(usage: Mapping[str, Any] | None) -> dict[str, int]:
    told = usage or {}
    names = ("prompt_tokens", "completion_tokens")
    return {name: told[name] for name in names if isinstance(told.get(name), int)}


def _written(
    words: Mapping[str, str],
    calls: list[Written],
    message: Mapping[str, Any],
    finish: str | None,
    usage: dict[str, int],
) -> Written:
    reply: Written = {key: text for key, text in words.items() if text}
    if message.get("reasoning_content"):
        reply["think"] = message["reasoning_content"]
    if message.get("refusal"):
        reply["refuse"] = message["refusal"]
    if calls:
        reply["ask"] = calls
    if not reply:
        reply["say"] = ""
    if finish in ("length", "content_filter"):  # the others follow from the rest
        reply["finish"] = finish
    return {**reply, "usage": usage} if usage else reply
