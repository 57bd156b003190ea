"""Answers of a Responses endpoint."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from fakeprovider.recording.events import events
from fakeprovider.recording.written import NotAnAnswer, Said, Written, written, written_call

_FINISH = {"max_output_tokens": "length", "content_filter": "content_filter"}
_LAST = ("response.completed", "response.incomplete")
_FAILED = ("response.failed", "error")


def whole(body: bytes) -> Written:
    """The reply in a `response`."""
    return _written(json.loads(body))


def streamed(body: bytes) -> Written:
    """The reply in the last event, which has the whole response."""
    for event in events(body):
        if event["type"] in _FAILED:
            raise NotAnAnswer(f"the stream has an error: {json.dumps(event)[:200]}")
        if event["type"] in _LAST:
            return _written(event["response"])
    raise NotAnAnswer("the stream broke off")


def _written(answer: Mapping[str, Any]) -> Written:
    status = answer.get("status", "completed")
    if status not in ("completed", "incomplete"):
        raise NotAnAnswer(f"its status is {status!r}")
    reason = (answer.get("incomplete_details") or {}).get("reason") or ""
    said = [one for item in answer["output"] for one in _said(item)]
    return written(said, _FINISH.get(reason), _usage(answer.get("usage") or {}))


def _said(item: Mapping[str, Any]) -> Iterator[Said]:
    kind = item["type"]
    if kind == "message":
        for part in item["content"]:
            refused = part["type"] == "refusal"
            yield ("refuse", part["refusal"]) if refused else ("say", part["text"])
    elif kind == "reasoning":
        yield "think", "".join(part["text"] for part in item.get("summary") or [])
    elif kind == "function_call":
        yield written_call(item["call_id"], item["name"], item["arguments"])
    else:
        raise NotAnAnswer(f"an item of type {kind!r} cannot be written down")


def _usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    """In a script's terms."""
    if "input_tokens" not in usage:
        return {}
    told = {
        "prompt_tokens": usage["input_tokens"],
        "completion_tokens": usage.get("output_tokens"),
    }
    cached = (usage.get("input_tokens_details") or {}).get("cached_tokens")
    return {**told, "cached_tokens": cached} if cached else told
