"""Usage that is missing, null, repeated, or sent where nobody asked; and counts that are wrong."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from faulty_replies import RequestBody, Send, Sent

from fakeprovider.server import Server

ASKED = {"stream_options": {"include_usage": True}}
EACH = pytest.mark.parametrize("dialect", ["chat", "messages", "responses"])


@EACH
def test_usage_may_be_missing_everywhere(sent: Send, dialect: str) -> None:
    assert "usage" in sent(dialect).json
    whole = sent(dialect, "usage_missing").json
    assert "usage" not in whole
    rest = ASKED if dialect == "chat" else {}
    assert b'"usage"' in sent(dialect, stream=True, **rest).body
    stream = sent(dialect, "usage_missing", stream=True, **rest)
    assert b'"usage"' not in stream.body
    assert stream.exchange.usage.completion_tokens > 0


NULLS = {
    "chat": ("prompt_tokens", "completion_tokens", "total_tokens"),
    "messages": ("input_tokens", "output_tokens"),
    "responses": ("input_tokens", "output_tokens", "total_tokens"),
}


@EACH
def test_usage_may_have_null_for_output(sent: Send, dialect: str) -> None:
    usage = sent(dialect, "usage_null").json["usage"]
    assert tuple(usage) == NULLS[dialect]
    assert usage[NULLS[dialect][0]] > 0
    assert all(usage[name] is None for name in NULLS[dialect][1:])
    assert usage_of(sent(dialect, "usage_null", stream=True)) == usage
    assert sent(dialect, "usage_null,what=object").json["usage"] is None
    assert usage_of(sent(dialect, "usage_null,what=object", stream=True)) is None


def usage_of(found: Sent) -> Any:
    """The last usage of a stream."""
    for event in reversed(found.events):
        if event != "[DONE]":
            holder = event.get("response", event)
            if "usage" in holder:
                return holder["usage"]
    raise AssertionError("no usage")


def test_a_null_usage_chunk_replaces_the_right_one(sent: Send) -> None:
    found = sent("chat", "usage_null", stream=True, **ASKED)
    chunks = [event for event in found.events if event != "[DONE]" and event["choices"] == []]
    assert [chunk["usage"]["completion_tokens"] for chunk in chunks] == [None]
    assert found.events[-1] == "[DONE]"


def test_running_totals_rise_to_the_count(sent: Send) -> None:
    found = sent("chat", "usage_running", stream=True)
    totals = [event["usage"]["completion_tokens"] for event in found.events if event != "[DONE]"]
    assert totals == sorted(totals)
    assert totals[-1] == found.exchange.usage.completion_tokens
    assert sum(totals) > 2 * totals[-1]
    prompts = {event["usage"]["prompt_tokens"] for event in found.events if event != "[DONE]"}
    assert prompts == {found.exchange.usage.prompt_tokens}


def test_the_final_usage_may_come_on_every_chunk(sent: Send) -> None:
    found = sent("chat", "usage_running,totals=final", stream=True)
    totals = {event["usage"]["completion_tokens"] for event in found.events if event != "[DONE]"}
    assert totals == {found.exchange.usage.completion_tokens}


def test_running_totals_of_messages_come_after_each_block(sent: Send) -> None:
    found = sent("messages", "usage_running", stream=True)
    deltas = [event for event in found.events if event["type"] == "message_delta"]
    totals = [event["usage"]["output_tokens"] for event in deltas]
    assert len(totals) == 4
    assert totals == sorted(totals)
    assert totals[-1] == found.exchange.usage.completion_tokens
    assert [event["delta"]["stop_reason"] for event in deltas] == [None, None, None, "tool_use"]


def test_the_last_usage_of_messages_may_have_output_only(sent: Send) -> None:
    found = sent("messages", "usage_output_only", stream=True)
    delta = next(event for event in found.events if event["type"] == "message_delta")
    assert delta["usage"] == {"output_tokens": found.exchange.usage.completion_tokens}
    assert found.events[0]["message"]["usage"]["input_tokens"] > 0


def test_a_usage_chunk_may_come_unasked_and_only_once(sent: Send) -> None:
    found = sent("chat", "usage_unasked", stream=True)
    chunk = found.events[-2]
    assert chunk["choices"] == []
    assert chunk["usage"]["total_tokens"] == sum(
        (found.exchange.usage.prompt_tokens, found.exchange.usage.completion_tokens)
    )
    asked = sent("chat", "usage_unasked", stream=True, **ASKED)
    assert asked.body == sent("chat", stream=True, **ASKED).body


@pytest.mark.parametrize(
    ("dialect", "path"),
    [("messages", "/messages/count_tokens"), ("responses", "/responses/input_tokens")],
)
def test_the_count_may_be_scaled_or_too_high_or_nowhere(
    server: Server,
    http: httpx.Client,
    request_body: RequestBody,
    dialect: str,
    path: str,
) -> None:
    content = request_body(dialect)
    content.pop("max_tokens", None)

    def count(fault: str) -> Any:
        return http.post(f"{server.url}/both{fault}/v1{path}", json=content)

    right = count("").json()["input_tokens"]
    assert count(";fault=count_scaled").json()["input_tokens"] == round(right * 0.55)
    assert count(";fault=count_more,tokens=2000").json()["input_tokens"] == right + 2000
    missing = count(";fault=count_missing")
    assert missing.status_code == 404
    assert "error" in missing.json()


@pytest.mark.parametrize("name", ["count_scaled", "count_more", "count_missing"])
def test_a_wrong_count_leaves_replies_alone(sent: Send, name: str) -> None:
    assert sent("messages", name).body == sent("messages").body
