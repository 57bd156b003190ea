"""Answers of a Messages endpoint."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from fakeprovider.recording.events import events
from fakeprovider.recording.written import NotAnAnswer, Said, Written, written, written_call

_FINISH = {
    "max_tokens": "length",
    "refusal": "refusal",
    "stop_sequence": "stop_sequence",
    "model_context_window_exceeded": "context_window",
}
"""Stop reasons that do not follow from the rest, in a script's words."""

_DELTAS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}


def whole(body: bytes) -> Written:
    """The reply in a `message`."""
    answer = json.loads(body)
    return _written(answer["content"], answer.get("stop_reason"), answer.get("usage") or {})


def streamed(body: bytes) -> Written:
    """The reply that the events add up to, from `message_start` to `message_stop`."""
    blocks: dict[int, dict[str, Any]] = {}
    ending: dict[str, Any] = {}
    usage: dict[str, Any] = {}
    for event in events(body):
        kind = event["type"]
        if kind == "error":
            raise NotAnAnswer(f"the stream has an error: {event['error']['message']}")
        if kind == "message_start":
            usage |= event["message"].get("usage") or {}
        elif kind == "content_block_start":
            blocks[event["index"]] = {**event["content_block"], "partial_json": ""}
        elif kind == "content_block_delta":
            _add(blocks[event["index"]], event["delta"])
        elif kind == "message_delta":
            ending |= event["delta"]
            usage |= event.get("usage") or {}
        elif kind == "message_stop":
            return _written(blocks.values(), ending.get("stop_reason"), usage)
    raise NotAnAnswer("the stream broke off")


def _add(block: dict[str, Any], delta: Mapping[str, Any]) -> None:
    name = _DELTAS.get(delta["type"])
    if name is not None:
        block[name] += delta[name]


def _written(
    blocks: Iterable[Mapping[str, Any]], reason: str | None, usage: Mapping[str, Any]
) -> Written:
    if reason == "pause_turn":
        raise NotAnAnswer("a turn that pauses (pause_turn) cannot be written down")
    words = "refuse" if reason == "refusal" else "say"
    said = (_said(block, words) for block in blocks)
    return written(said, _FINISH.get(reason or ""), _usage(usage))


def _said(block: Mapping[str, Any], words: str) -> Said:
    kind = block["type"]
    if kind == "text":
        return words, block["text"]
    if kind == "thinking":
        return "think", block["thinking"]
    if kind == "redacted_thinking":
        return "think", ""
    if kind == "tool_use":
        return written_call(block["id"], block["name"], _input(block))
    raise NotAnAnswer(f"a block of type {kind!r} cannot be written down")


def _input(block: Mapping[str, Any]) -> str:
    """The input as compact JSON, however it was spaced in its deltas; text if it was cut short."""
    sent: str = block.get("partial_json") or ""
    try:
        value = json.loads(sent) if sent else block["input"]
    except ValueError:
        return sent
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    """In a script's terms: cached tokens are part of the prompt."""
    if "input_tokens" not in usage:
        return {}
    cached = usage.get("cache_read_input_tokens") or 0
    prompt = usage["input_tokens"] + cached + (usage.get("cache_creation_input_tokens") or 0)
    told = {"prompt_tokens": prompt, "completion_tokens": usage.get("output_tokens")}
    return {**told, "cached_tokens": cached} if cached else told
