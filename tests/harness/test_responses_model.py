"""The Responses client: what it sends, and every shape it must understand."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakeprovider_harness.models import (
    Call,
    Message,
    ModelError,
    ModelReply,
    ResponsesModel,
    ToolSpec,
    Usage,
    make_model,
)
from fakeprovider_harness.models.responses import ResponsesAssembler
from fakeprovider_harness.models.sse import SSEParser

USER = [Message("user", "hi")]
A, B = Call("A", "tool_a", '{"t":"A"}'), Call("B", "tool_b", '{"t":"B"}')
USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 0},
    "output_tokens": 9,
    "output_tokens_details": {"reasoning_tokens": 5},
    "total_tokens": 109,
}


def call_item(call: Call, **more: Any) -> dict[str, Any]:
    item = {"type": "function_call", "id": f"fc_{call.id}", "call_id": call.id, "name": call.name}
    return {**item, "arguments": call.arguments, "status": "completed", **more}


def text_item(text: str, **more: Any) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {
        **{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"},
        **{"content": [part], **more},
    }


def response(*output: Any, status: str = "completed", **more: Any) -> dict[str, Any]:
    fields = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m"}
    return {**fields, "status": status, "output": list(output), "usage": USAGE, **more}


def begun(wire: Any) -> list[bytes]:
    started = response(status="in_progress", usage=None)
    return [
        wire.E("response.created", sequence_number=0, response=started),
        wire.E("response.in_progress", sequence_number=1, response=started),
    ]


def item_events(wire: Any, index: int, item: dict[str, Any], *, done: bool = True) -> list[bytes]:
    """The events of one item: added empty, its pieces, done."""
    where = {"item_id": item["id"], "output_index": index}
    events = [_added(wire, index, item)]
    if item["type"] == "function_call":
        events += [
            wire.E("response.function_call_arguments.delta", delta=piece, **where)
            for piece in (item["arguments"][:3], item["arguments"][3:])
        ]
        events.append(
            wire.E("response.function_call_arguments.done", arguments=item["arguments"], **where)
        )
    for i, part in enumerate(item.get("content") or ()):
        events.append(wire.E("response.content_part.added", content_index=i, part={}, **where))
        events += [
            wire.E("response.output_text.delta", content_index=i, delta=piece, **where)
            for piece in (part["text"][:2], part["text"][2:])
        ]
        events.append(
            wire.E("response.output_text.done", content_index=i, text=part["text"], **where)
        )
    finished = wire.E("response.output_item.done", output_index=index, item=item)
    return [*events, finished] if done else events


def _added(wire: Any, index: int, item: dict[str, Any]) -> bytes:
    empty: dict[str, Any] = {"content": [], "arguments": "", "status": "in_progress"}
    start = {key: empty.get(key, value) for key, value in item.items()}
    event: bytes = wire.E("response.output_item.added", output_index=index, item=start)
    return event


def ended(wire: Any, *output: Any, **more: Any) -> bytes:
    full = response(*output, **more)
    event: bytes = wire.E(f"response.{full['status']}", sequence_number=99, response=full)
    return event


def reply_to(wire: Any, events: Any, **settings: Any) -> ModelReply:
    reply: ModelReply = wire.reply(events, ResponsesModel, **settings)
    return reply


def error_of(wire: Any, events: Any, **settings: Any) -> ModelError:
    error: ModelError = wire.error(events, ResponsesModel, **settings)
    return error


def sent(wire: Any, messages: list[Message], tools: Any = (), **settings: Any) -> Any:
    answer = wire.json(json.dumps(response(text_item("x"))).encode())
    return wire.sent(messages, tools, ResponsesModel, answer, **settings)


# ---------------------------------------------------------------- streams


def test_the_documented_order_of_events_makes_a_reply(wire: Any) -> None:
    items = [text_item("Let me look."), call_item(A), call_item(B)]
    events = begun(wire)
    for index, item in enumerate(items):
        events += item_events(wire, index, item)
    reply = reply_to(wire, [*events, ended(wire, *items)])
    usage = Usage(100, 9, cached_tokens=64, reasoning_tokens=5)
    assert reply == ModelReply("Let me look.", (A, B), "tool_calls", usage, "m")


def test_pieces_make_the_reply_where_the_last_event_has_no_output(wire: Any) -> None:
    events = [*begun(wire), *item_events(wire, 0, text_item("Hello")), ended(wire)]
    assert reply_to(wire, events).text == "Hello"


def test_interleaved_items_get_their_own_arguments(wire: Any) -> None:
    one = item_events(wire, 0, call_item(A), done=False)
    two = item_events(wire, 1, call_item(B), done=False)
    events = [event for pair in zip(one, two, strict=True) for event in pair]
    assert reply_to(wire, [*begun(wire), *events, ended(wire)]).calls == (A, B)


def test_no_arguments_are_the_empty_object(wire: Any) -> None:
    items = [call_item(Call("A", "f", "")), call_item(Call("B", "g", " "))]
    reply = reply_to(wire, [*begun(wire), ended(wire, *items)])
    assert [json.loads(call.arguments) for call in reply.calls] == [{}, {}]


@pytest.mark.parametrize(
    ("reason", "finish"), [("max_output_tokens", "length"), ("content_filter", "content_filter")]
)
def test_an_incomplete_response_says_why(wire: Any, reason: str, finish: str) -> None:
    item = text_item("half", status="incomplete")
    last = ended(wire, item, status="incomplete", incomplete_details={"reason": reason})
    reply = reply_to(wire, [*begun(wire), *item_events(wire, 0, item), last])
    assert (reply.text, reply.finish) == ("half", finish)


def test_half_a_call_of_a_cut_response_is_kept_as_it_is(wire: Any) -> None:
    item = call_item(Call("A", "write", '{"p":"he'), status="incomplete")
    details = {"reason": "max_output_tokens"}
    reply = reply_to(wire, [ended(wire, item, status="incomplete", incomplete_details=details)])
    assert (reply.finish, reply.calls) == ("length", (Call("A", "write", '{"p":"he'),))


def test_a_refusal_is_said_in_the_finish_and_its_words_are_the_text(wire: Any) -> None:
    refusal = {"type": "refusal", "refusal": "I cannot."}
    item = text_item("", content=[refusal])
    events = [*begun(wire), _added(wire, 0, item)]
    events.append(wire.E("response.refusal.delta", output_index=0, delta="I cannot."))
    for stream in ([*events, ended(wire)], [ended(wire, item)]):
        reply = reply_to(wire, stream)
        assert (reply.text, reply.finish) == ("I cannot.", "refusal")


def test_an_end_without_a_last_event_is_incomplete(wire: Any) -> None:
    events = [*begun(wire), *item_events(wire, 0, call_item(A))]
    error = error_of(wire, events)
    assert error.retryable
    assert error.partial is not None
    assert error.partial.calls == (A,)


def test_the_last_event_ends_the_reply_though_the_socket_stays_open(wire: Any) -> None:
    events = [*begun(wire), ended(wire, text_item("all")), wire.HOLD]
    assert reply_to(wire, events).text == "all"


def test_a_failed_response_is_an_error_with_what_was_received(wire: Any) -> None:
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
def test_an_error_event_is_an_error_in_both_of_its_forms(wire: Any, nested: bool) -> None:
    payload = {"code": "rate_limit_exceeded", "message": "slow down"}
    fields = {"error": payload} if nested else payload
    found = error_of(wire, [*begun(wire), wire.E("error", sequence_number=3, **fields)])
    assert (found.status, found.code, found.retryable) == (429, "rate_limit_exceeded", True)
    assert "slow down" in str(found)


def test_a_delta_for_an_item_that_was_never_added_is_an_error(wire: Any) -> None:
    delta = wire.E("response.output_text.delta", output_index=3, delta="x")
    assert "output item 3" in str(error_of(wire, [*begun(wire), delta]))


def test_unknown_events_are_passed_over_and_text_is_handed_on(wire: Any) -> None:
    seen: list[str] = []
    events = [*begun(wire), wire.E("response.new_thing", x=1)]
    events += [*item_events(wire, 0, text_item("Hello")), ended(wire, text_item("Hello"))]
    assert reply_to(wire, [*events, wire.DONE], on_text=seen.append).text == "Hello"
    assert seen == ["He", "llo"]


def assembled(events: list[bytes]) -> ModelReply:
    assembler, parser = ResponsesAssembler("made"), SSEParser()
    for event in parser.feed(b"".join(events)):
        assembler.feed(event)
    return assembler.reply()


_TEXT = st.text(max_size=12)


@settings(max_examples=100, deadline=None)
@given(st.lists(_TEXT | st.tuples(_TEXT, _TEXT), max_size=4), st.booleans(), st.booleans())
def test_a_whole_response_and_its_stream_are_equal(
    wire: Any, parts: list[Any], with_output: bool, with_done: bool
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
def test_any_cut_into_tcp_writes_gives_the_same_reply(wire: Any, data: st.DataObject) -> None:
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


# ---------------------------------------------------------------- whole responses


def test_a_whole_failed_response_is_an_error(wire: Any) -> None:
    body = response(status="failed", error={"code": "server_error", "message": "boom"})
    error = error_of(wire, wire.json(json.dumps(body).encode()), stream=False)
    assert (error.status, error.retryable) == (500, True)


@pytest.mark.parametrize("body", [b"{}", b"[]", b"<html>", b'{"output":null}', b'{"output":[1]}'])
def test_a_200_that_is_no_response_is_an_error(wire: Any, body: bytes) -> None:
    assert "unreadable reply" in str(error_of(wire, wire.json(body), stream=False))


def test_a_response_that_is_still_in_progress_is_no_reply(wire: Any) -> None:
    body = json.dumps(response(status="queued")).encode()
    assert "still queued" in str(error_of(wire, wire.json(body), stream=False))


# ---------------------------------------------------------------- requests


def test_the_request_is_the_documented_one(wire: Any) -> None:
    parameters = {"type": "object", "properties": {}}
    history = [
        Message("system", "Be brief."),
        Message("user", "Which?"),
        Message("assistant", "Both.", (A, B)),
        Message("tool", "a!", call_id="A", outcome="ok"),
        Message("tool", None, call_id="B", outcome="error"),
        Message("system", "New rule."),
        Message("assistant", "Done."),
        Message("assistant", None),
    ]

    def call(of: Call) -> Any:
        fields = {"call_id": of.id, "name": of.name, "arguments": of.arguments}
        return {"type": "function_call", **fields}

    assert sent(wire, history, [ToolSpec("tool_a", "Does A.", parameters)]) == {
        "model": "m",
        "store": False,
        "instructions": "Be brief.",
        "input": [
            {"role": "user", "content": "Which?"},
            {"role": "assistant", "content": "Both."},
            call(A),
            call(B),
            {"type": "function_call_output", "call_id": "A", "output": "a!"},
            {"type": "function_call_output", "call_id": "B", "output": ""},
            {"role": "system", "content": "New rule."},
            {"role": "assistant", "content": "Done."},
            {"role": "assistant", "content": ""},
        ],
        "tools": [
            {
                "type": "function",
                "name": "tool_a",
                "description": "Does A.",
                "parameters": parameters,
                "strict": False,
            }
        ],
    }


def test_max_output_stream_and_options_stand_in_the_body(wire: Any) -> None:
    body = sent(wire, USER, max_output=30, options={"include": ["x"]})
    assert (body["max_output_tokens"], body["include"]) == (30, ["x"])
    assert "stream" not in body
    answer = [ended(wire, text_item("x"))]
    streamed = wire.sent(USER, (), ResponsesModel, answer, stream=True, path="/v1")
    assert streamed["stream"] is True


def test_ids_and_names_that_the_service_would_refuse_are_rewritten_alike(wire: Any) -> None:
    long = "call_" + "x" * 80
    history = [*USER, Message("assistant", None, (Call(long, "no such tool", "{}"),))]
    _, call, result = sent(wire, [*history, Message("tool", "r", call_id=long)])["input"]
    assert call["call_id"] == result["call_id"]
    assert len(call["call_id"]) <= 64
    assert call["name"].startswith("no_such_tool_")


REASONING = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "hm"}],
    "encrypted_content": "gAAA",
}


def test_reasoning_goes_back_in_its_place_with_phases_and_ids(wire: Any) -> None:
    message = text_item("Looking.", phase="commentary")
    reply = reply_to(wire, [*begun(wire), ended(wire, REASONING, message, call_item(A))])
    assert (reply.text, reply.calls) == ("Looking.", (A,))
    history = [*USER, Message("assistant", reply.text, reply.calls, opaque=reply.opaque)]
    history.append(Message("tool", "r", call_id="A"))
    body = sent(wire, history)
    assert body["input"][1:4] == [REASONING, message, call_item(A)]


def test_calls_that_the_loop_renamed_go_back_renamed(wire: Any) -> None:
    reply = reply_to(wire, [ended(wire, REASONING, call_item(A))])
    own = Call("A_2p0", "tool_a", "{}")
    history = [*USER, Message("assistant", None, (own,), opaque=reply.opaque)]
    call = sent(wire, [*history, Message("tool", "r", call_id="A_2p0")])["input"][2]
    assert (call["call_id"], call["arguments"], call["id"]) == ("A_2p0", "{}", "fc_A")


def test_reasoning_without_its_content_cannot_go_back_nor_can_the_ids_beside_it(wire: Any) -> None:
    bare = {**REASONING, "encrypted_content": None}
    reply = reply_to(wire, [ended(wire, bare, call_item(A))])
    assert reply.opaque == {}
    history = [*USER, Message("assistant", None, reply.calls, opaque=reply.opaque)]
    call = sent(wire, [*history, Message("tool", "r", call_id="A")])["input"][1]
    assert "id" not in call


def test_reasoning_that_led_to_nothing_is_not_sent_back(wire: Any) -> None:
    details = {"reason": "max_output_tokens"}
    last = ended(wire, REASONING, status="incomplete", incomplete_details=details)
    reply = reply_to(wire, [last])
    history = [*USER, Message("assistant", "(cut)", opaque=reply.opaque), *USER]
    said = [item["content"] for item in sent(wire, history)["input"]]
    assert said == ["hi", "(cut)", "hi"]  # the turn stays visible, or a script would repeat it


def test_a_plain_reply_carries_nothing_opaque(wire: Any) -> None:
    assert reply_to(wire, [ended(wire, text_item("x"), call_item(A))]).opaque == {}


def test_the_official_sdk_accepts_our_request_as_its_own(wire: Any) -> None:
    from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
    from pydantic import TypeAdapter

    reply = reply_to(
        wire, [ended(wire, REASONING, text_item("x", phase="commentary"), call_item(A))]
    )
    history = [
        Message("system", "s"),
        *USER,
        Message("assistant", reply.text, reply.calls, opaque=reply.opaque),
        Message("tool", "r", call_id="A"),
    ]
    tools = [ToolSpec("tool_a", "Does A.", {"type": "object", "properties": {}})]
    TypeAdapter(ResponseCreateParamsNonStreaming).validate_python(sent(wire, history, tools))


def test_the_factory_knows_three_protocols_and_names_them() -> None:
    for protocol, path in (
        ("chat", "chat/completions"),
        ("messages", "messages"),
        ("responses", "responses"),
    ):
        assert make_model(protocol, "http://x", "m", stream=True).path == path
    with pytest.raises(ValueError, match="chat, messages, responses"):
        make_model("soap", "http://x")
