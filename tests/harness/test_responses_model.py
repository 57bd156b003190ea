"""The Responses client: what it sends, and every shape it must understand."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from responses_wire import (
    _TEXT,
    A,
    B,
    _added,
    assembled,
    begun,
    call_item,
    ended,
    error_of,
    item_events,
    reply_to,
    response,
    text_item,
)

from fakeprovider_harness.models import (
    Call,
    ModelReply,
    Usage,
)
from fakeprovider_harness.models.responses import ResponsesAssembler

if TYPE_CHECKING:
    from tests.harness.conftest import Wire


def test_the_documented_order_of_events_makes_a_reply(wire: type[Wire]) -> None:
    items = [text_item("Let me look."), call_item(A), call_item(B)]
    events = begun(wire)
    for index, item in enumerate(items):
        events += item_events(wire, index, item)
    reply = reply_to(wire, [*events, ended(wire, *items)])
    usage = Usage(100, 9, cached_tokens=64, reasoning_tokens=5)
    assert reply == ModelReply("Let me look.", (A, B), "tool_calls", usage, "m")


def test_pieces_make_the_reply_where_the_last_event_has_no_output(wire: type[Wire]) -> None:
    events = [*begun(wire), *item_events(wire, 0, text_item("Hello")), ended(wire)]
    assert reply_to(wire, events).text == "Hello"


def test_interleaved_items_get_their_own_arguments(wire: type[Wire]) -> None:
    one = item_events(wire, 0, call_item(A), done=False)
    two = item_events(wire, 1, call_item(B), done=False)
    events = [event for pair in zip(one, two, strict=True) for event in pair]
    assert reply_to(wire, [*begun(wire), *events, ended(wire)]).calls == (A, B)


def test_no_arguments_are_the_empty_object(wire: type[Wire]) -> None:
    items = [call_item(Call("A", "f", "")), call_item(Call("B", "g", " "))]
    reply = reply_to(wire, [*begun(wire), ended(wire, *items)])
    assert [json.loads(call.arguments) for call in reply.calls] == [{}, {}]


@pytest.mark.parametrize(
    ("reason", "finish"), [("max_output_tokens", "length"), ("content_filter", "content_filter")]
)
def test_an_incomplete_response_says_why(wire: type[Wire], reason: str, finish: str) -> None:
    item = text_item("half", status="incomplete")
    last = ended(wire, item, status="incomplete", incomplete_details={"reason": reason})
    reply = reply_to(wire, [*begun(wire), *item_events(wire, 0, item), last])
    assert (reply.text, reply.finish) == ("half", finish)


def test_half_a_call_of_a_cut_response_is_kept_as_it_is(wire: type[Wire]) -> None:
    item = call_item(Call("A", "write", '{"p":"he'), status="incomplete")
    details = {"reason": "max_output_tokens"}
    reply = reply_to(wire, [ended(wire, item, status="incomplete", incomplete_details=details)])
    assert (reply.finish, reply.calls) == ("length", (Call("A", "write", '{"p":"he'),))


def test_a_refusal_is_said_in_the_finish_and_its_words_are_the_text(wire: type[Wire]) -> None:
    refusal = {"type": "refusal", "refusal": "I cannot."}
    item = text_item("", content=[refusal])
    events = [*begun(wire), _added(wire, 0, item)]
    events.append(wire.E("response.refusal.delta", output_index=0, delta="I cannot."))
    for stream in ([*events, ended(wire)], [ended(wire, item)]):
        reply = reply_to(wire, stream)
        assert (reply.text, reply.finish) == ("I cannot.", "refusal")


def test_an_end_without_a_last_event_is_incomplete(wire: type[Wire]) -> None:
    events = [*begun(wire), *item_events(wire, 0, call_item(A))]
    error = error_of(wire, events)
    assert error.retryable
    assert error.partial is not None
    assert error.partial.calls == (A,)


def test_the_last_event_ends_the_reply_though_the_socket_stays_open(wire: type[Wire]) -> None:
    events = [*begun(wire), ended(wire, text_item("all")), wire.HOLD]
    assert reply_to(wire, events).text == "all"


def test_a_failed_response_is_an_error_with_what_was_received(wire: type[Wire]) -> None:
    error = {"code": "server_error", "message": "boom"}
    events = [*begun(wire), *item_events(wire, 0, text_item("half"))]
    last = ended(wire, text_item("half"), status="failed", error=error)
    found = error_of(wire, [*events, last])
    assert (found.status, found.code, found.retryable) == (500, "server_error", True)
    assert "boom" in str(found)
    assert found.partial is not None
    assert found.partial.text == "half"
    assert found.partial.usage is not None
    assert found.partial.usage.prompt_tokens == 100


@pytest.mark.parametrize("nested", [True, False])
def test_an_error_event_is_an_error_in_both_of_its_forms(wire: type[Wire], nested: bool) -> None:
    payload = {"code": "rate_limit_exceeded", "message": "slow down"}
    fields = {"error": payload} if nested else payload
    found = error_of(wire, [*begun(wire), wire.E("error", sequence_number=3, **fields)])
    assert (found.status, found.code, found.retryable) == (429, "rate_limit_exceeded", True)
    assert "slow down" in str(found)


def test_a_delta_for_an_item_that_was_never_added_is_an_error(wire: type[Wire]) -> None:
    delta = wire.E("response.output_text.delta", output_index=3, delta="x")
    assert "output item 3" in str(error_of(wire, [*begun(wire), delta]))


def test_unknown_events_are_passed_over_and_text_is_handed_on(wire: type[Wire]) -> None:
    seen: list[str] = []
    events = [*begun(wire), wire.E("response.new_thing", x=1)]
    events += [*item_events(wire, 0, text_item("Hello")), ended(wire, text_item("Hello"))]
    assert reply_to(wire, [*events, wire.DONE], on_text=seen.append).text == "Hello"
    assert seen == ["He", "llo"]


@settings(max_examples=100, deadline=None)
@given(st.lists(_TEXT | st.tuples(_TEXT, _TEXT), max_size=4), st.booleans(), st.booleans())
def test_a_whole_response_and_its_stream_are_equal(
    wire: type[Wire], parts: list[Any], with_output: bool, with_done: bool
) -> None:
    items = [
        text_item(part, id=f"m{i}")
        if isinstance(part, str)
        else call_item(Call(f"c{i}", f"f{part[0]}", part[1]))
        for i, part in enumerate(parts)
    ]
    one = ResponsesAssembler("made")
    one.take(json.dumps(response(*items)).encode())
    events = begun(wire)
    for index, item in enumerate(items):
        events += item_events(wire, index, item, done=with_done)
    many = assembled([*events, ended(wire, *(items if with_output else ()))])
    whole = one.reply()
    assert (many.text, many.calls, many.finish) == (whole.text, whole.calls, whole.finish)
    assert (many.usage, many.model) == (whole.usage, whole.model)
    if with_output or with_done:
        assert many.opaque == whole.opaque


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_any_cut_into_tcp_writes_gives_the_same_reply(
    wire: type[Wire], data: st.DataObject
) -> None:
    items = [text_item("häßlich 🙂"), call_item(Call("A", "f", '{"é":"🙂"}'))]
    events = begun(wire)
    for index, item in enumerate(items):
        events += item_events(wire, index, item)
    events.append(ended(wire, *items))
    stream = b"".join(events)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=10)))
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    answer = wire.Answer([p for p in pieces if p], framing="chunked")
    assert reply_to(wire, answer) == assembled(events)


def test_a_whole_failed_response_is_an_error(wire: type[Wire]) -> None:
    body = response(status="failed", error={"code": "server_error", "message": "boom"})
    error = error_of(wire, wire.json(json.dumps(body).encode()), stream=False)
    assert (error.status, error.retryable) == (500, True)


@pytest.mark.parametrize("body", [b"{}", b"[]", b"<html>", b'{"output":null}', b'{"output":[1]}'])
def test_a_200_that_is_no_response_is_an_error(wire: type[Wire], body: bytes) -> None:
    assert "unreadable reply" in str(error_of(wire, wire.json(body), stream=False))


def test_a_response_that_is_still_in_progress_is_no_reply(wire: type[Wire]) -> None:
    body = json.dumps(response(status="queued")).encode()
    assert "still queued" in str(error_of(wire, wire.json(body), stream=False))
