"""Streams that end where they should not, stand still, or end in an error: byte by byte."""

from __future__ import annotations

import json

import pytest
from faulty_replies import Send, Sent

DIALECTS = ["chat", "messages", "responses"]
EACH = pytest.mark.parametrize("dialect", DIALECTS)


@EACH
@pytest.mark.parametrize(("how", "end"), [("eof", None), ("close", "close"), ("reset", "reset")])
def test_a_cut_stream_is_the_start_of_the_whole_one(
    sent: Send, dialect: str, how: str, end: str | None
) -> None:
    legal = sent(dialect, stream=True)
    found = sent(dialect, f"cut,after=3,how={how}", stream=True)
    assert legal.body.startswith(found.body)
    assert found.body.endswith(b"\n\n")
    assert b" look" not in found.body.rpartition(b"\n\n")[2]
    assert text_of(found) == "Let me look"
    assert found.cut == end
    assert found.exchange.broken


def text_of(found: Sent) -> str:
    """The words of the events, in any dialect."""
    texts = []
    for event in found.events:
        if event == "[DONE]":
            continue
        if found.dialect == "chat":
            texts += [one["delta"].get("content") or "" for one in event.get("choices", ())]
        elif event.get("type") == "content_block_delta":
            texts.append(event["delta"].get("text", ""))
        elif event.get("type") == "response.output_text.delta":
            texts.append(event["delta"])
    return "".join(texts)


@EACH
def test_a_stream_may_be_cut_before_the_first_token_or_not_at_all(sent: Send, dialect: str) -> None:
    legal = sent(dialect, stream=True)
    assert text_of(sent(dialect, "cut,after=0", stream=True)) == ""
    assert sent(dialect, "cut,after=10000", stream=True).body == legal.body


@EACH
@pytest.mark.parametrize("how", ["eof", "close", "reset"])
def test_a_stream_cut_in_a_call_has_the_start_of_its_arguments(
    sent: Send, dialect: str, how: str
) -> None:
    found = sent(dialect, f"cut_in_call,how={how}", stream=True)
    assert sent(dialect, stream=True).body.startswith(found.body)
    fragments = arguments_of(found)
    assert list(fragments) == [0]
    assert '{"path":"a.txt"}'.startswith(fragments[0])
    with pytest.raises(ValueError, match=r"Expecting|Unterminated"):
        json.loads(fragments[0])
    assert found.cut == (None if how == "eof" else how)


def arguments_of(found: Sent) -> dict[int, str]:
    """The arguments so far, by the number of their call, block or item."""
    parts: dict[int, str] = {}
    for event in found.events:
        if event == "[DONE]":
            continue
        if found.dialect == "chat":
            for choice in event.get("choices", ()):
                for call in choice["delta"].get("tool_calls") or ():
                    at = call["index"]
                    parts[at] = parts.get(at, "") + call["function"]["arguments"]
        elif event.get("type") == "content_block_delta" and "partial_json" in event["delta"]:
            at = event["index"] - 1
            parts[at] = parts.get(at, "") + event["delta"]["partial_json"]
        elif event.get("type") == "response.function_call_arguments.delta":
            at = event["output_index"] - 1
            parts[at] = parts.get(at, "") + event["delta"]
    return parts


def test_a_call_without_arguments_gets_some_so_that_it_can_be_cut(
    sent: Send,
) -> None:
    tools = [{"type": "function", "function": {"name": "list_files"}}]
    found = sent("chat", "cut_in_call", stream=True, path="/runaway", tools=tools)
    assert arguments_of(found)[0].startswith('{"')


@EACH
def test_a_stream_cut_in_a_character_ends_with_its_first_byte(sent: Send, dialect: str) -> None:
    found = sent(dialect, "cut_in_character", stream=True)
    assert found.body[-1] == 0xF0
    with pytest.raises(UnicodeDecodeError, match="unexpected end of data"):
        found.body.decode()
    assert found.body[:-1].isascii()


@EACH
def test_a_stall_holds_and_then_goes_on_to_the_end(sent: Send, dialect: str) -> None:
    found = sent(dialect, "stall,after=3,seconds=40", stream=True)
    assert found.body == sent(dialect, stream=True).body
    assert found.held == 40
    pinged = sent(dialect, "stall,after=3,seconds=40,ping=15", stream=True)
    assert pinged.held == 40
    assert pinged.body.count(b": ping\n\n") == 2
    assert pinged.body.replace(b": ping\n\n", b"") == found.body


ERRORS = {
    "chat": b'data: {"error":{"message":"Overloaded","type":"server_error","param":null,'
    b'"code":null}}\n\n',
    "messages": b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error",'
    b'"message":"Overloaded"}}\n\n',
}


@EACH
def test_an_error_after_the_200_comes_after_tokens_first_or_after_a_call(
    sent: Send, dialect: str
) -> None:
    later = sent(dialect, "error_mid_stream,after=3", stream=True)
    assert later.status == 200
    assert text_of(later) == "Let me look"
    first = sent(dialect, "error_mid_stream,at=first", stream=True)
    assert len(first.events) == 1
    call = sent(dialect, "error_mid_stream,at=call", stream=True)
    assert arguments_of(call) == {0: '{"path":"a.txt"}'}
    for found in (later, first, call):
        if dialect == "responses":
            number = len(found.events) - 1
            assert found.body.endswith(
                b'event: error\ndata: {"type":"error","sequence_number":%d,'
                b'"code":"server_error","message":"Overloaded","param":null}\n\n' % number
            )
        else:
            assert found.body.endswith(ERRORS[dialect])
        assert b"[DONE]" not in found.body
        assert found.exchange.broken


def test_which_error_it_is_is_a_parameter(sent: Send) -> None:
    for name, kind in (
        ("server", "api_error"),
        ("rate_limit", "rate_limit_error"),
        ("timeout", "timeout_error"),
    ):
        found = sent("messages", f"error_mid_stream,error={name}", stream=True)
        assert found.events[-1]["error"]["type"] == kind


@pytest.mark.parametrize(
    ("dialect", "missing"),
    [
        ("chat", b"data: [DONE]\n\n"),
        ("messages", b'event: message_stop\ndata: {"type":"message_stop"}\n\n'),
    ],
)
def test_without_the_last_event_everything_else_is_there(
    sent: Send, dialect: str, missing: bytes
) -> None:
    found = sent(dialect, "no_done", stream=True)
    assert found.body + missing == sent(dialect, stream=True).body
    assert not found.exchange.broken


def test_a_stream_may_never_say_why_it_ended(sent: Send) -> None:
    asked = {"stream_options": {"include_usage": True}}
    done = sent("chat", "no_finish,done=yes", stream=True, **asked)
    assert done.body.endswith(b"data: [DONE]\n\n")
    assert b'"finish_reason":"tool_calls"' not in done.body
    assert done.events[-2]["choices"] == []
    bare = sent("chat", "no_finish", stream=True, **asked)
    assert bare.events[-1]["choices"][0]["finish_reason"] is None
    assert arguments_of(bare)[1] == '{"path":"b.txt"}'
    messages = sent("messages", "no_finish", stream=True)
    assert messages.kinds[-1] == "content_block_stop"
    responses = sent("responses", "no_finish", stream=True)
    assert responses.kinds[-1] == "response.output_item.done"


@EACH
def test_headers_may_be_all_there_is(sent: Send, dialect: str) -> None:
    found = sent(dialect, "headers_only", stream=True)
    assert found.status == 200
    assert found.headers["content-type"].startswith("text/event-stream")
    assert found.body == b""


@EACH
@pytest.mark.parametrize("name", ["cut", "stall", "error_mid_stream", "headers_only"])
def test_a_reply_that_is_not_streamed_is_left_alone_and_the_journal_says_so(
    sent: Send, dialect: str, name: str
) -> None:
    found = sent(dialect, name)
    assert found.body == sent(dialect).body
    assert found.exchange.fault == ""
    assert found.exchange.notes[-1].detail == f"{name}: the reply is not streamed"
