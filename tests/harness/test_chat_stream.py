"""Chat streams byte for byte: every shape services send makes the right reply or an error."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakeprovider_harness.models import Call, Message, ModelReply, Usage
from fakeprovider_harness.models.chat import ChatAssembler

if TYPE_CHECKING:
    from tests.harness.conftest import Wire

# ---------------------------------------------------------------- usage


def test_the_usage_chunk_has_no_choices(wire: type[Wire]) -> None:
    usage = {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}
    reply = wire.reply([wire.D({"content": "Hi"}), wire.F("stop"), wire.U(usage), wire.DONE])
    assert (reply.text, reply.usage) == ("Hi", Usage(12, 3))


def test_null_counts_are_unknown_and_estimated_upwards(wire: type[Wire]) -> None:
    usage = {"prompt_tokens": 12, "completion_tokens": None, "total_tokens": None}
    reply = wire.reply([wire.D({"content": "Hi!"}), wire.F("stop"), wire.U(usage), wire.DONE])
    assert reply.usage == Usage(12, 3, estimated=True)  # three bytes
    assert any("unknown" in note for note in reply.notes)


def test_a_missing_completion_count_follows_from_the_total(wire: type[Wire]) -> None:
    usage = {"prompt_tokens": 12, "total_tokens": 19}
    reply = wire.reply([wire.D({"content": "Hi!"}), wire.F("stop"), wire.U(usage), wire.DONE])
    assert reply.usage == Usage(12, 7)


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        {"prompt_tokens": None},
        "none",
        {"prompt_tokens": "x"},
        {"prompt_tokens": 0, "completion_tokens": 0},
    ],
)
def test_no_usage_is_none_and_never_zero(wire: type[Wire], usage: Any) -> None:
    reply = wire.reply([wire.D({"content": "Hi"}), wire.F("stop"), wire.U(usage), wire.DONE])
    assert reply.usage is None
    assert reply.text == "Hi"


def test_usage_is_asked_for_in_streams_only(wire: type[Wire]) -> None:
    user = [Message("user", "hi")]
    streamed = wire.sent(user, answer=[wire.F("stop"), wire.DONE], stream=True)
    assert streamed["stream"] is True
    assert streamed["stream_options"] == {"include_usage": True}
    plain = wire.sent(user)
    assert "stream" not in plain
    assert "stream_options" not in plain


def test_running_totals_are_not_added_up(wire: type[Wire]) -> None:
    stream = []
    for n in (1, 2, 3):
        usage = {"prompt_tokens": 100, "completion_tokens": n, "total_tokens": 100 + n}
        chunk = {"choices": [{"index": 0, "delta": {"content": "x"}}], "usage": usage}
        stream.append(wire.data(chunk))
    assert wire.reply([*stream, wire.F("stop"), wire.DONE]).usage == Usage(100, 3)


def test_usage_details_are_read_and_the_prompt_includes_them(wire: type[Wire]) -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 9,
        "total_tokens": 109,
        "prompt_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 5},
    }
    assert wire.reply([wire.F("stop"), wire.U(usage), wire.DONE]).usage == Usage(
        100, 9, cached_tokens=64, cache_write_tokens=4, reasoning_tokens=5
    )


def test_more_cached_than_prompt_is_not_believed_and_flagged(wire: type[Wire]) -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 9,
        "prompt_tokens_details": {"cached_tokens": 120},
    }
    reply = wire.reply([wire.F("stop"), wire.U(usage), wire.DONE])
    assert reply.usage == Usage(120, 9, cached_tokens=0, estimated=True)
    assert any("120 cached" in note for note in reply.notes)


# ---------------------------------------------------------------- finish reasons


def test_an_empty_finish_reason_is_none(wire: type[Wire]) -> None:
    stream = [wire.D({"content": "a"}, finish=""), wire.D({"content": "b"}, finish="stop")]
    reply = wire.reply([*stream, wire.DONE])
    assert (reply.text, reply.finish) == ("ab", "stop")


def test_a_finish_reason_stands_though_later_chunks_have_none(wire: type[Wire]) -> None:
    stream = [wire.F("length"), wire.D({"content": ""}), wire.DONE]
    assert wire.reply(stream).finish == "length"


def test_a_call_counts_though_the_finish_reason_is_stop(wire: type[Wire]) -> None:
    stream = [wire.D(wire.calls(wire.tool(0, "a", "f", arguments="{}"))), wire.F("stop"), wire.DONE]
    assert wire.reply(stream).calls == (Call("a", "f", "{}"),)


@pytest.mark.parametrize("none", [[], None])
def test_empty_tool_calls_are_none_and_are_not_echoed(wire: type[Wire], none: Any) -> None:
    stream = [wire.D({"content": "Hello", "tool_calls": none}), wire.F("stop"), wire.DONE]
    reply = wire.reply(stream)
    assert (reply.text, reply.calls, reply.finish) == ("Hello", (), "stop")
    assert "tool_calls" not in wire.sent([Message("assistant", "Hello")])["messages"][0]


def test_calls_that_are_announced_but_absent_are_reported_as_they_are(
    wire: type[Wire],
) -> None:
    reply = wire.reply([wire.D({"content": "I'll read."}), wire.F("tool_calls"), wire.DONE])
    assert (reply.calls, reply.finish) == ((), "tool_calls")


def test_a_legacy_function_call_is_a_tool_call(wire: type[Wire]) -> None:
    stream = [
        wire.D({"function_call": {"name": "f", "arguments": '{"a"'}}),
        wire.D({"function_call": {"arguments": ":1}"}}),
        wire.F("function_call"),
        wire.DONE,
    ]
    reply = wire.reply(stream)
    assert reply.finish == "tool_calls"
    assert reply.calls == (Call("call_1_0", "f", '{"a":1}'),)


def test_a_refusal_is_said_in_the_finish_and_its_words_are_the_text(wire: type[Wire]) -> None:
    stream = [wire.D({"refusal": "I can"}), wire.D({"refusal": "not."}), wire.F("stop"), wire.DONE]
    reply = wire.reply(stream)
    assert (reply.text, reply.finish) == ("I cannot.", "refusal")


def test_half_a_call_of_a_cut_reply_is_kept_as_it_is(wire: type[Wire]) -> None:
    stream = [
        wire.D(wire.calls(wire.tool(0, "a", "write", arguments='{"p":"he'))),
        wire.F("length"),
    ]
    reply = wire.reply([*stream, wire.DONE])
    assert (reply.finish, reply.calls) == ("length", (Call("a", "write", '{"p":"he'),))


def test_a_cut_call_without_a_name_yet_is_dropped(wire: type[Wire]) -> None:
    reply = wire.reply([wire.D(wire.calls(wire.tool(0, "a"))), wire.F("length"), wire.DONE])
    assert (reply.finish, reply.calls) == ("length", ())


def test_a_call_that_never_gets_a_name_is_an_error_that_may_be_retried(wire: type[Wire]) -> None:
    stream = [
        wire.D(wire.calls(wire.tool(0, "a", arguments="{}"))),
        wire.F("tool_calls"),
        wire.DONE,
    ]
    error = wire.error(stream)
    assert "without a name" in str(error)
    assert error.retryable


# ---------------------------------------------------------------- the stream


def test_comments_and_control_events_change_nothing(wire: type[Wire]) -> None:
    stream = [
        b": PROCESSING\n\n",
        b":\n",
        b":x\n" + wire.D({"content": "a"}),
        b"retry: 3000\n\n",
        b"event: ping\n\n",
        b"data:\n\n",
        b"id: 7\n" + wire.D({"content": "b"}),
        b": ping\n\n",
        wire.F("stop"),
        wire.DONE,
    ]
    reply = wire.reply(stream)
    assert (reply.text, reply.finish) == ("ab", "stop")


@pytest.mark.parametrize("framing", ["close", "chunked"])
def test_a_finish_reason_without_done_is_complete(wire: type[Wire], framing: str) -> None:
    answer = wire.Answer([wire.D({"content": "all"}), wire.F("stop")], framing=framing)
    reply = wire.reply(answer)
    assert (reply.text, reply.finish, reply.notes) == ("all", "stop", ())


@pytest.mark.parametrize("framing", ["close", "chunked"])
def test_an_end_without_finish_reason_is_incomplete(wire: type[Wire], framing: str) -> None:
    error = wire.error(wire.Answer([wire.D({"content": "half"})], framing=framing))
    assert error.retryable
    assert error.partial is not None
    assert error.partial.text == "half"


def test_done_without_finish_reason_is_complete_with_a_note(wire: type[Wire]) -> None:
    reply = wire.reply([wire.D({"content": "all"}), wire.DONE])
    assert (reply.text, reply.finish) == ("all", None)
    assert any("no finish reason" in note for note in reply.notes)


def test_done_ends_the_reply_though_the_socket_stays_open(wire: type[Wire]) -> None:
    start = time.monotonic()
    reply = wire.reply([wire.D({"content": "x"}), wire.F("stop"), wire.DONE, wire.HOLD])
    assert reply.text == "x"
    assert time.monotonic() - start < 30  # not the stall timeout of a minute


def test_a_complete_call_without_finish_reason_is_no_reply(wire: type[Wire]) -> None:
    error = wire.error([wire.D(wire.calls(wire.tool(0, "a", "write", arguments='{"x":1}')))])
    assert error.partial is not None
    assert error.partial.calls == (Call("a", "write", '{"x":1}'),)


def test_headers_and_nothing_else_is_incomplete(wire: type[Wire]) -> None:
    error = wire.error([])
    assert error.retryable
    assert error.partial == ModelReply(notes=error.partial.notes)  # type: ignore[union-attr]


def test_only_done_is_incomplete(wire: type[Wire]) -> None:
    assert "ended before" in str(wire.error([wire.DONE]))


def test_a_reset_after_the_finish_reason_spoils_nothing(wire: type[Wire]) -> None:
    stream = [wire.D({"content": "all"}), wire.F("stop"), wire.RST]
    assert wire.reply(wire.Answer(stream, framing="chunked")).text == "all"


def test_cx03_a_reset_after_a_complete_call_is_a_broken_reply(wire: type[Wire]) -> None:
    call = wire.D(wire.calls(wire.tool(0, "a", "write", arguments='{"x":1}')))
    error = wire.error([wire.D({"content": "Hi "}), call, wire.RST])
    assert (error.status, error.retryable) == (None, True)
    assert error.partial is not None
    assert (error.partial.text, len(error.partial.calls)) == ("Hi ", 1)


def test_an_error_inside_the_stream_is_a_failure_with_what_was_received(
    wire: type[Wire],
) -> None:
    payload = {"error": {"message": "x broke", "type": "server_error", "code": None}}
    error = wire.error([wire.D({"content": "half"}), wire.data(payload)])
    assert "x broke" in str(error)
    assert (error.status, error.code, error.retryable) == (500, "server_error", True)
    assert error.partial is not None
    assert error.partial.text == "half"


def test_an_overload_inside_the_stream_is_like_529(wire: type[Wire]) -> None:
    payload = {"error": {"type": "overloaded_error", "message": "Overloaded"}}
    error = wire.error([wire.data(payload)])
    assert (error.status, error.retryable) == (529, True)
    assert error.partial is None  # an error in place of a reply is not charged


def test_a_refused_stream_is_read_as_http(wire: type[Wire]) -> None:
    body = b'{"error":{"message":"bad key","type":"authentication_error"}}'
    error = wire.error(wire.Answer([body], 401, "application/json"))
    assert (error.status, error.retryable, error.partial) == (401, False, None)
    assert "bad key" in str(error)


@pytest.mark.parametrize("data", [b"data: {oops\n\n", b"data: []\n\n", b"data: <html>\n\n"])
def test_an_event_that_is_not_a_chunk_is_an_error_that_shows_it(
    wire: type[Wire], data: bytes
) -> None:
    error = wire.error([wire.D({"content": "a"}), data])
    assert "unreadable event" in str(error)
    assert data.decode().strip().removeprefix("data: ") in str(error)
    assert error.partial is not None


_STREAM = st.lists(
    st.sampled_from(["text", "call", "args", "comment", "usage", "ping", "ünï 🙂"]), max_size=8
)


def _script(wire: Any, items: list[str]) -> bytes:
    chunks = {
        "call": wire.D(wire.calls(wire.tool(0, "a", "f", arguments=""))),
        "args": wire.D(wire.calls(wire.tool(0, arguments='{"é":"🙂"}'))),
        "comment": b": wait\r\n\r\n",
        "ping": b"event: ping\n\n",
        "usage": wire.U({"prompt_tokens": 1, "completion_tokens": 2}),
    }
    opening = wire.D({"role": "assistant"}) + chunks["call"]
    body = b"".join(chunks.get(i) or wire.D({"content": i}) for i in items)
    return opening + body + wire.F("tool_calls") + wire.DONE


@settings(max_examples=50, deadline=None)
@given(_STREAM, st.data())
def test_any_cut_into_tcp_writes_gives_the_same_reply(
    wire: type[Wire], items: list[str], data: st.DataObject
) -> None:
    stream = _script(wire, items)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=10)))
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    framing = data.draw(st.sampled_from(["close", "chunked"]))
    answer = wire.Answer([p for p in pieces if p], framing=framing)
    assert wire.reply(answer) == wire.reply([stream])


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=30), st.lists(st.tuples(st.text(), st.text()), max_size=3), st.booleans())
def test_a_whole_reply_and_its_stream_are_equal(
    wire: type[Wire], text: str, functions: list[tuple[str, str]], split: bool
) -> None:
    entries = [
        {"id": f"i{i}", "type": "function", "function": {"name": f"n{i}", "arguments": a + b}}
        for i, (a, b) in enumerate(functions)
    ]
    usage = {"prompt_tokens": 3, "completion_tokens": 4}
    finish = "tool_calls" if entries else "stop"
    message = {"content": text, "tool_calls": entries or None}
    one = ChatAssembler("made")
    one.take(wire.whole(message, finish, usage=usage))
    half = len(text) // 2 if split else 0
    chunks = [wire.D({"content": text[:half]}), wire.D({"content": text[half:]})]
    for i, (a, b) in enumerate(functions):
        chunks.append(wire.D(wire.calls(wire.tool(i, f"i{i}", f"n{i}", arguments=a))))
        chunks.append(wire.D(wire.calls(wire.tool(i, arguments=b))))
    chunks += [wire.F(finish), wire.U(usage), wire.DONE]
    many = wire.assembled(*chunks).reply()
    assert content_of(many) == content_of(one.reply())


def content_of(reply: ModelReply) -> tuple[Any, ...]:
    return reply.text, reply.calls, reply.finish, reply.usage, reply.notes


def test_text_is_handed_on_as_it_comes(wire: type[Wire]) -> None:
    seen: list[str] = []
    stream = [wire.D({"content": "He"}), wire.D({"content": "llo"}), wire.F("stop"), wire.DONE]
    wire.reply(stream, on_text=seen.append)
    assert seen == ["He", "llo"]


def test_a_surrogate_pair_split_over_two_chunks_is_joined_and_a_lone_half_replaced(
    wire: type[Wire],
) -> None:
    stream = [
        wire.D({"content": "a\ud83d"}),
        wire.D({"content": "\ude00b\ud83d"}),
        wire.F("stop"),
        wire.DONE,
    ]
    assert wire.reply(stream).text == "a\U0001f600b\ufffd"


def test_lone_surrogates_in_arguments_are_mended(wire: type[Wire]) -> None:
    stream = [
        wire.D(wire.calls(wire.tool(0, "a", "f", arguments='{"x":"\\ud83d"}'))),
        wire.F("tool_calls"),
    ]
    (call,) = wire.reply([*stream, wire.DONE]).calls
    assert json.loads(call.arguments) == {"x": "\ufffd"}
