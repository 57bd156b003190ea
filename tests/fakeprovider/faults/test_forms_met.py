"""What real clients met on the wire: the legal form by default, the faulty form by its fault."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from faulty_replies import Send, Sent

USAGE = {"stream_options": {"include_usage": True}}
DIALECTS = ["chat", "messages", "responses"]
A, B = '{"path":"a.txt"}', '{"path":"b.txt"}'


def calls(found: Sent) -> list[dict[str, Any]]:
    """The tool call deltas of a chat stream."""
    chunks = [event for event in found.events if event != "[DONE]"]
    choices = [choice for chunk in chunks for choice in chunk["choices"]]
    return [one for choice in choices for one in choice["delta"].get("tool_calls") or ()]


def finishes(found: Sent) -> list[Any]:
    """The finish reasons of a chat stream."""
    chunks = [event for event in found.events if event != "[DONE]"]
    return [choice["finish_reason"] for chunk in chunks for choice in chunk["choices"]]


def test_deltas_of_calls_have_an_index_or_none(sent: Send) -> None:
    assert [one["index"] for one in calls(sent("chat", stream=True)) if "id" in one] == [0, 1]
    bare = calls(sent("chat", "no_index", stream=True))
    assert [sorted(one) for one in bare[:2]] == [["function", "id", "type"], ["function"]]
    together = calls(sent("chat", "no_index,form=one_chunk", stream=True))
    assert [one["function"]["arguments"] for one in together] == [A, B]
    later = calls(sent("chat", "no_index,form=after_first", stream=True))
    assert [one.get("index") for one in later if "id" in one] == [0, None]


def test_continuations_have_no_id_or_an_empty_one_or_there_is_none(sent: Send) -> None:
    def ids(fault: str) -> list[str | None]:
        return [one.get("id") for one in calls(sent("chat", fault, stream=True))][:3]

    assert ids("") == ["fake0", None, None]
    assert ids("call_ids,ids=empty") == ["fake0", "", ""]
    assert ids("call_ids,ids=missing") == [None, None, None]
    apart = calls(sent("chat", "call_apart", stream=True))[:3]
    assert [sorted({**one, **one.get("function", {})}) for one in apart] == [
        ["id", "index", "type"],
        ["function", "index", "name"],
        ["arguments", "function", "index"],
    ]


def test_fragments_come_call_by_call_or_woven_together(sent: Send) -> None:
    def order(found: Sent) -> list[int]:
        return [one["index"] for one in calls(found)]

    assert order(sent("chat", stream=True)) == sorted(order(sent("chat", stream=True)))
    assert order(sent("chat", "interleaved", stream=True))[:6] == [0, 1, 0, 1, 0, 1]
    woven = sent("messages", "interleaved", stream=True)
    places = [event["index"] for event in woven.events if event["type"] == "content_block_delta"]
    assert places[:6] == [0, 1, 2, 0, 1, 2]
    second = sent("chat", "two_choices", stream=True)
    both = [choice["index"] for event in second.events[:-1] for choice in event["choices"]]
    assert both[:4] == [0, 1, 0, 1]
    assert [one["index"] for one in calls(second) if one.get("id")] == [0, 0, 1, 1]


def test_arguments_of_a_tool_without_any(sent: Send) -> None:
    tools = [{"type": "function", "function": {"name": "list_files"}}]

    def arguments(fault: str) -> list[str | None]:
        found = sent("chat", fault, stream=True, path="/runaway", tools=tools)
        return [one["function"].get("arguments") for one in calls(found)]

    assert arguments("") == ["", "{}"]
    assert arguments("empty_arguments") == [""]
    assert "".join(filter(None, arguments("empty_arguments,form=spaces"))) == "  "
    assert arguments("empty_arguments,form=none") == [None]
    assert arguments("truncated_arguments") == ["", "{"]
    silent = sent("messages", "empty_arguments,form=none", stream=True)
    assert "input_json_delta" not in silent.body.decode()
    assert '"partial_json":""' in sent("messages", "empty_arguments", stream=True).body.decode()


def test_usage_comes_alone_if_asked_for_or_is_null_or_missing(sent: Send) -> None:
    asked = sent("chat", stream=True, **USAGE)
    assert asked.events[-2]["choices"] == []
    assert all(event["usage"] is None for event in asked.events[:-2])
    assert b'"usage"' not in sent("chat", stream=True).body
    null = sent("chat", "usage_null", stream=True, **USAGE).events[-2]["usage"]
    assert (null["completion_tokens"], null["total_tokens"]) == (None, None)
    assert b'"usage"' not in sent("chat", "usage_missing", stream=True, **USAGE).body
    assert b'"usage"' in sent("chat", "usage_unasked", stream=True).body
    assert sent("chat", "empty_choices", stream=True).events[0]["choices"] == []


def test_usage_is_a_total_and_may_come_again_and_again(sent: Send) -> None:
    running = sent("chat", "usage_running", stream=True)
    totals = [event["usage"]["completion_tokens"] for event in running.events[:-1]]
    assert totals == sorted(totals)
    assert totals[-1] == running.exchange.usage.completion_tokens
    legal = sent("messages", stream=True)
    start, delta = legal.events[0]["message"]["usage"], legal.events[-2]["usage"]
    assert start["input_tokens"] == delta["input_tokens"]
    assert start["output_tokens"] < delta["output_tokens"]
    short = sent("messages", "usage_output_only", stream=True).events[-2]["usage"]
    assert short == {"output_tokens": delta["output_tokens"]}


def test_finish_reason_and_calls_agree_or_not(sent: Send) -> None:
    assert finishes(sent("chat", stream=True))[-2:] == [None, "tool_calls"]
    assert finishes(sent("chat", "finish_empty", stream=True, script="words"))[-2:] == ["", "stop"]
    assert finishes(sent("chat", "finish_disagrees", stream=True))[-1] == "stop"
    plain = sent("chat", script="words").json["choices"][0]["message"]
    assert "tool_calls" not in plain
    empty = sent("chat", "tool_calls_empty", script="words").json["choices"][0]
    assert (empty["message"]["tool_calls"], empty["finish_reason"]) == ([], "stop")
    null = sent("chat", "tool_calls_empty,value=null", script="words").json["choices"][0]
    assert null["message"]["tool_calls"] is None
    absent = sent("chat", "calls_absent").json["choices"][0]
    assert "tool_calls" not in absent["message"]
    assert absent["finish_reason"] == "tool_calls"
    legacy = sent("chat", "function_call").json["choices"][0]
    assert (legacy["message"]["function_call"]["arguments"], legacy["finish_reason"]) == (
        A,
        "function_call",
    )


def test_a_call_that_is_cut_says_so_or_denies_it(sent: Send) -> None:
    legal = sent("chat", max_tokens=34)
    choice = legal.json["choices"][0]
    assert choice["finish_reason"] == "length"
    assert legal.json["usage"]["completion_tokens"] == 34
    (cut,) = choice["message"]["tool_calls"]
    assert A.startswith(cut["function"]["arguments"])
    assert cut["function"]["arguments"] != A
    denied = sent("chat", "truncated_arguments").json["choices"][0]
    assert denied["finish_reason"] == "tool_calls"
    assert denied["message"]["tool_calls"][0]["function"]["arguments"] == '{"path":'
    valid = sent("chat", "truncated_arguments,form=valid,finish=length").json["choices"][0]
    assert valid["message"]["tool_calls"][0]["function"]["arguments"] == "{}"
    assert valid["finish_reason"] == "length"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_streams_have_no_noise_or_all_of_it(sent: Send, dialect: str) -> None:
    legal = sent(dialect, stream=True)
    assert not [
        line for line in legal.body.split(b"\n") if line.startswith((b":", b"retry", b"id"))
    ]
    noisy = sent(dialect, "comments", stream=True)
    assert noisy.events == legal.events
    for noise in (
        b": PROCESSING\n\n",
        b":\n",
        b"retry: 3000\n\n",
        b"event: ping\n\n",
        b"data:\n\n",
    ):
        assert noise in noisy.body


def test_how_a_stream_ends(sent: Send) -> None:
    legal = sent("chat", stream=True, script="words")
    assert legal.events[-1] == "[DONE]"
    assert legal.cut is None
    no_done = sent("chat", "no_done", stream=True, script="words")
    assert no_done.events == legal.events[:-1]
    nothing = sent("chat", "no_finish", stream=True, script="words")
    assert nothing.events == legal.events[:-2]
    done = sent("chat", "no_finish,done=yes", stream=True, script="words")
    assert done.events == [*legal.events[:-2], "[DONE]"]
    held = sent("chat", "hold_open,seconds=120", stream=True, script="words")
    assert (held.body, held.held) == (legal.body, 120)
    complete = sent("chat", "no_finish", stream=True)
    assert "".join(one["function"]["arguments"] for one in calls(complete)) == A + B
    messages = sent("messages", "no_finish", stream=True)
    assert not {"message_delta", "message_stop"} & set(messages.kinds)
    assert sent("chat", "headers_only", stream=True).body == b""


def test_an_error_is_a_status_or_an_event_in_the_stream(sent: Send) -> None:
    real = sent("messages", "unauthorized", stream=True)
    assert (real.status, real.json["error"]["type"]) == (401, "authentication_error")
    late = sent("messages", "error_mid_stream,after=1", stream=True)
    assert late.kinds[0] == "message_start"
    assert late.events[-1] == {
        "type": "error",
        "error": {"type": "overloaded_error", "message": "Overloaded"},
    }
    assert sent("messages", "error_mid_stream,at=first", stream=True).kinds == ["error"]
    after_call = sent("messages", "error_mid_stream,at=call", stream=True)
    assert after_call.kinds[-2:] == ["content_block_stop", "error"]
    chat = sent("chat", "error_mid_stream,error=server", stream=True)
    assert chat.events[-1]["error"]["type"] == "server_error"


SHAPES: dict[str, Callable[[Any], bool]] = {
    "service": lambda body: json.loads(body)["error"]["message"] == "m",
    "number_code": lambda body: json.loads(body)["error"]["code"] == 123,
    "string": lambda body: json.loads(body) == {"error": "m", "status": 402},
    "detail": lambda body: json.loads(body) == {"detail": "m"},
    "detail_list": lambda body: json.loads(body)["detail"][0]["msg"] == "m",
    "flat": lambda body: json.loads(body) == {"error_code": "BAD_REQUEST", "message": "m"},
    "nested": lambda body: json.loads(body) == {"error": {"error": {"message": "m"}}},
    "array": lambda body: json.loads(body) == [{"error": {"message": "m"}}],
    "text": lambda body: body == b"m",
    "html": lambda body: body.startswith(b"<html>") and b"402 m" in body,
    "empty": lambda body: body == b"",
}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_error_bodies_have_the_services_shape_or_another(
    sent: Send, dialect: str, shape: str
) -> None:
    found = sent(dialect, f"http_error,status=402,message=m,shape={shape}")
    assert found.status == 402
    assert SHAPES[shape](found.body)
    assert found.headers["content-type"].startswith(
        {"text": "text/plain", "html": "text/html", "empty": "text/plain"}.get(
            shape, "application/json"
        )
    )
    if shape == "service":
        assert list(found.json) == (
            ["type", "error", "request_id"] if dialect == "messages" else ["error"]
        )


def test_order_of_events_and_place_of_tool_input(sent: Send) -> None:
    legal = sent("messages", stream=True)
    assert legal.kinds[:3] == ["message_start", "ping", "content_block_start"]
    assert legal.kinds[-2:] == ["message_delta", "message_stop"]
    starts = [event for event in legal.events if event["type"] == "content_block_start"]
    assert [start["content_block"].get("input") for start in starts] == [None, {}, {}]
    early = sent("messages", "delta_before_start", stream=True)
    assert early.kinds[0] == "content_block_delta"
    assert sent("messages", "second_start", stream=True).kinds.count("message_start") == 2
    assert sent("messages", "error_mid_stream,at=first", stream=True).kinds[0] == "error"
    whole = sent("messages", "input_in_start", stream=True)
    starts = [event for event in whole.events if event["type"] == "content_block_start"]
    assert [start["content_block"].get("input") for start in starts[1:]] == [
        {"path": "a.txt"},
        {"path": "b.txt"},
    ]
    one = sent("messages", "one_block", stream=True)
    said = [event for event in one.events if "partial_json" in event.get("delta", {})]
    assert "".join(event["delta"]["partial_json"] for event in said) == A + B
    assert len({event["index"] for event in said}) == 1


@pytest.mark.parametrize("dialect", DIALECTS)
def test_streamed_and_whole_say_the_same(sent: Send, dialect: str) -> None:
    """Also with faults of the reply itself: only the framing differs."""
    for fault in (
        "",
        "unknown_tool",
        "other_model,model=x",
        "past_max_tokens",
        "mistyped_arguments",
    ):
        whole, stream = sent(dialect, fault), sent(dialect, fault, stream=True)
        for name in ("usage", "finish", "calls", "model", "said", "tools"):
            assert getattr(whole.exchange, name) == getattr(stream.exchange, name)


def test_what_is_sent_follows_from_the_request_with_and_without_faults(sent: Send) -> None:
    for fault in ("", "interleaved", "rate_limited", "lone_surrogate", "error_mid_stream"):
        one, other = sent("chat", fault, stream=True), sent("chat", fault, stream=True)
        assert one.body == other.body
        assert one.headers == other.headers
    assert [one["id"] for one in calls(sent("chat", stream=True)) if "id" in one] == [
        "fake0",
        "fake0p1",
    ]
