"""The Anthropic Messages client: what it sends, and every shape it must understand."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.models import Call, Message, MessagesModel, ModelError, ModelReply, ToolSpec, Usage
from harness.models.messages_stream import MessagesAssembler
from harness.sse import SSEParser

USER = [Message("user", "hi")]
A, B = Call("A", "tool_a", '{"t":"A"}'), Call("B", "tool_b", '{"t":"B"}')


def start(wire: Any, **usage: int) -> bytes:
    usage = usage or {"input_tokens": 20, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
    started: bytes = wire.E("message_start", message={**message, "usage": usage})
    return started


def opened(wire: Any, index: int, **block: Any) -> bytes:
    event: bytes = wire.E("content_block_start", index=index, content_block=block)
    return event


def used(wire: Any, index: int, call: Call, **more: Any) -> bytes:
    return opened(
        wire, index, **{"type": "tool_use", "id": call.id, "name": call.name, "input": {}, **more}
    )


def delta(wire: Any, index: int, **fields: Any) -> bytes:
    (key,) = fields
    kinds = {"partial_json": "input_json_delta"}
    kind = kinds.get(key, f"{key}_delta")
    event: bytes = wire.E("content_block_delta", index=index, delta={"type": kind, **fields})
    return event


def closed(wire: Any, index: int) -> bytes:
    event: bytes = wire.E("content_block_stop", index=index)
    return event


def end(wire: Any, reason: str | None, **usage: int) -> list[bytes]:
    stopped = {"stop_reason": reason, "stop_sequence": None}
    usage = usage or {"output_tokens": 5}
    return [wire.E("message_delta", delta=stopped, usage=usage), wire.E("message_stop")]


def said(wire: Any, *texts: str) -> list[bytes]:
    deltas = [delta(wire, 0, text=text) for text in texts]
    return [opened(wire, 0, type="text", text=""), *deltas, closed(wire, 0)]


def reply_to(wire: Any, events: Any, **settings: Any) -> ModelReply:
    reply: ModelReply = wire.reply(events, MessagesModel, **settings)
    return reply


def error_of(wire: Any, events: Any, **settings: Any) -> ModelError:
    error: ModelError = wire.error(events, MessagesModel, **settings)
    return error


def sent(wire: Any, messages: list[Message], tools: Any = (), **settings: Any) -> Any:
    answer = wire.json(json.dumps({"content": [], "stop_reason": "end_turn"}).encode())
    return wire.sent(messages, tools, MessagesModel, answer, **settings)


# ---------------------------------------------------------------- streams


def test_a19_the_documented_order_of_events_makes_a_reply(wire: Any) -> None:
    call = Call("toolu_1", "f", '{"a":1}')
    events = [
        start(wire, input_tokens=20, output_tokens=1),
        wire.E("ping"),
        *said(wire, "Let me ", "look."),
        used(wire, 1, call),
        delta(wire, 1, partial_json=""),
        delta(wire, 1, partial_json='{"a":'),
        delta(wire, 1, partial_json="1}"),
        closed(wire, 1),
        *end(wire, "tool_use", output_tokens=9),
    ]
    assert reply_to(wire, events) == ModelReply(
        "Let me look.", (call,), "tool_calls", Usage(20, 9), "m"
    )


def test_a03b_interleaved_blocks_get_their_own_input(wire: Any) -> None:
    events = [start(wire), used(wire, 0, A), used(wire, 1, B)]
    events += [delta(wire, 0, partial_json='{"t":'), delta(wire, 1, partial_json='{"t":')]
    events += [delta(wire, 0, partial_json='"A"}'), delta(wire, 1, partial_json='"B"}')]
    events += [closed(wire, 0), closed(wire, 1), *end(wire, "tool_use")]
    assert reply_to(wire, events).calls == (A, B)


@pytest.mark.parametrize("pieces", [[""], [], ["", "{}"], [" "]])
def test_a05d_and_e_no_input_is_the_empty_object(wire: Any, pieces: list[str]) -> None:
    deltas = [delta(wire, 0, partial_json=piece) for piece in pieces]
    events = [start(wire), used(wire, 0, A), *deltas, closed(wire, 0), *end(wire, "tool_use")]
    (call,) = reply_to(wire, events).calls
    assert json.loads(call.arguments) == {}


def test_a07b_and_c_usage_is_cumulative_and_an_absent_field_keeps_its_value(wire: Any) -> None:
    first = {"input_tokens": 20, "cache_read_input_tokens": 1000, "output_tokens": 1}
    for last in ({**first, "output_tokens": 50}, {"output_tokens": 50}):
        events = [start(wire, **first), *said(wire, "x"), *end(wire, "end_turn", **last)]
        assert reply_to(wire, events).usage == Usage(1020, 50, cached_tokens=1000)


def test_c07b_the_prompt_includes_cache_reads_and_writes(wire: Any) -> None:
    usage = {
        "input_tokens": 20_000,
        "cache_read_input_tokens": 80_000,
        "cache_creation_input_tokens": 500,
        "output_tokens": 1000,
    }
    events = [start(wire, **usage), *said(wire, "x"), *end(wire, "end_turn", output_tokens=1000)]
    assert reply_to(wire, events).usage == Usage(
        100_500, 1000, cached_tokens=80_000, cache_write_tokens=500
    )


def test_input_tokens_may_come_in_message_delta_only(wire: Any) -> None:
    events = [start(wire, input_tokens=0, output_tokens=0), *said(wire, "x")]
    events += end(wire, "end_turn", input_tokens=9, output_tokens=2)
    assert reply_to(wire, events).usage == Usage(9, 2)


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("tool_use", "tool_calls"),
        ("max_tokens", "length"),
        ("refusal", "refusal"),
        ("pause_turn", "pause"),
        ("model_context_window_exceeded", "context_window"),
    ],
)
def test_every_stop_reason_has_its_word(wire: Any, reason: str, finish: str) -> None:
    events = [start(wire), *said(wire, "x"), *end(wire, reason)]
    assert reply_to(wire, events).finish == finish


def test_a13f_no_stop_reason_and_no_end_is_incomplete(wire: Any) -> None:
    error = error_of(wire, [start(wire), *said(wire, "half")])
    assert error.retryable
    assert error.partial is not None
    assert error.partial.text == "half"
    assert error.partial.usage == Usage(20, 4, estimated=True)  # four bytes seen, one reported


def test_a_stop_reason_without_message_stop_is_complete(wire: Any) -> None:
    events = [start(wire), *said(wire, "all"), end(wire, "end_turn")[0]]
    assert reply_to(wire, events).text == "all"


def test_message_stop_ends_the_reply_though_the_socket_stays_open(wire: Any) -> None:
    events = [start(wire), *said(wire, "all"), *end(wire, "end_turn"), wire.HOLD]
    assert reply_to(wire, events).text == "all"


def test_message_stop_without_reason_is_complete_with_a_note(wire: Any) -> None:
    reply = reply_to(wire, [start(wire), *said(wire, "all"), wire.E("message_stop")])
    assert (reply.text, reply.finish) == ("all", None)
    assert any("no stop reason" in note for note in reply.notes)


@pytest.mark.parametrize("before", [0, 1, 3])
def test_a14_an_error_event_is_like_its_status(wire: Any, before: int) -> None:
    error = {"type": "overloaded_error", "message": "Overloaded"}
    events = [start(wire), *said(wire, "a", "b")][:before]
    found = error_of(wire, [*events, wire.E("error", error=error)])
    assert (found.status, found.code, found.retryable) == (529, "overloaded_error", True)
    assert "Overloaded" in str(found)
    if before == 0:
        assert found.partial is None  # an error in place of a reply is not charged
    else:
        assert found.partial is not None
        assert found.partial.text == ("a" if before == 3 else "")


def test_a14d_an_error_after_a_complete_call_is_no_reply(wire: Any) -> None:
    call = [used(wire, 0, A), delta(wire, 0, partial_json=A.arguments), closed(wire, 0)]
    error = wire.E("error", error={"type": "api_error", "message": "boom"})
    found = error_of(wire, [start(wire), *call, error])
    assert found.partial is not None
    assert found.partial.calls == (A,)


def test_a19a_and_b_events_out_of_order_are_errors_that_may_be_retried(wire: Any) -> None:
    early = error_of(wire, [*said(wire, "x"), start(wire)])
    twice = error_of(wire, [start(wire), start(wire)])
    lost = error_of(wire, [start(wire), delta(wire, 7, text="x")])
    assert "before message_start" in str(early)
    assert "second message_start" in str(twice)
    assert "block 7" in str(lost)
    assert all(error.retryable for error in (early, twice, lost))


def test_a19d_a_whole_input_in_the_start_is_used_when_no_delta_comes(wire: Any) -> None:
    events = [start(wire), used(wire, 0, A, input={"t": "A"}), closed(wire, 0)]
    assert reply_to(wire, [*events, *end(wire, "tool_use")]).calls == (A,)


def test_a19e_several_objects_in_one_block_stay_malformed(wire: Any) -> None:
    events = [start(wire), used(wire, 0, A)]
    events += [delta(wire, 0, partial_json=json_) for json_ in ('{"a":1}', '{"a":2}')]
    (call,) = reply_to(wire, [*events, *end(wire, "tool_use")]).calls
    with pytest.raises(ValueError, match="Extra data"):
        json.loads(call.arguments)


def test_unknown_events_deltas_and_fields_are_passed_over(wire: Any) -> None:
    events = [
        start(wire),
        wire.E("content_block_glow", index=4),
        opened(wire, 0, type="text", text=""),
    ]
    events += [wire.E("content_block_delta", index=0, delta={"type": "new_delta", "x": 1})]
    events += [delta(wire, 0, text="ok"), *end(wire, "end_turn")]
    assert reply_to(wire, events).text == "ok"


def test_text_is_handed_on_as_it_comes(wire: Any) -> None:
    seen: list[str] = []
    events = [start(wire), *said(wire, "He", "llo"), *end(wire, "end_turn")]
    reply_to(wire, events, on_text=seen.append)
    assert seen == ["He", "llo"]


def assembled(events: list[bytes]) -> ModelReply:
    assembler, parser = MessagesAssembler("made"), SSEParser()
    for event in parser.feed(b"".join(events)):
        assembler.feed(event)
    return assembler.reply()


_PIECES = st.lists(st.text('{}":,ab é🙂', max_size=4), max_size=4)


@settings(max_examples=100, deadline=None)
@given(st.lists(_PIECES, min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_any_interleaving_of_blocks_assembles_to_the_same_calls(
    wire: Any, inputs: list[list[str]], random: Any
) -> None:
    queues = [
        [used(wire, i, Call(f"i{i}", f"n{i}", ""))]
        + [delta(wire, i, partial_json=piece) for piece in pieces]
        + [closed(wire, i)]
        for i, pieces in enumerate(inputs)
    ]
    events = [start(wire)]
    while any(queues):
        events.append(random.choice([q for q in queues if q]).pop(0))
    joined = ["".join(pieces) for pieces in inputs]
    expected = [Call(f"i{i}", f"n{i}", t if t.strip() else "{}") for i, t in enumerate(joined)]
    assert list(assembled([*events, *end(wire, "tool_use")]).calls) == expected


_VALUES = st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=5), max_size=3)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=20), st.text(max_size=20), st.lists(_VALUES, max_size=3), st.booleans())
def test_a_whole_message_and_its_stream_are_equal(
    wire: Any, thought: str, text: str, inputs: list[dict[str, Any]], thinks: bool
) -> None:
    content: list[dict[str, Any]] = []
    if thinks:
        content.append({"type": "thinking", "thinking": thought, "signature": "sig"})
    content.append({"type": "text", "text": text})
    content += [
        {"type": "tool_use", "id": f"t{i}", "name": f"f{i}", "input": v}
        for i, v in enumerate(inputs)
    ]
    usage = {"input_tokens": 20, "output_tokens": 9}
    message = {"model": "m", "content": content, "stop_reason": "end_turn", "usage": usage}
    one = MessagesAssembler("made")
    one.take(json.dumps(message).encode())

    empty = {"thinking": "", "text": "", "input": {}, "signature": ""}
    events = [start(wire, **usage)]
    for i, block in enumerate(content):
        events.append(opened(wire, i, **{k: empty.get(k, v) for k, v in block.items()}))
        for key in ("thinking", "signature", "text"):
            events += [delta(wire, i, **{key: block[key]})] if key in block else []
        if "input" in block:
            source = json.dumps(block["input"], ensure_ascii=False, separators=(",", ":"))
            events += [delta(wire, i, partial_json=p) for p in (source[:3], source[3:])]
        events.append(closed(wire, i))
    assert assembled([*events, *end(wire, "end_turn", output_tokens=9)]) == one.reply()


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_any_cut_into_tcp_writes_gives_the_same_reply(wire: Any, data: st.DataObject) -> None:
    call = Call("toolu_1", "f", '{"é":"🙂"}')
    events = [start(wire), wire.E("ping"), *said(wire, "häß", "lich 🙂"), used(wire, 1, call)]
    events += [delta(wire, 1, partial_json=call.arguments), *end(wire, "tool_use")]
    stream = b"".join(events)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=10)))
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    answer = wire.Answer([p for p in pieces if p], framing="chunked")
    assert reply_to(wire, answer) == assembled(events)


# ---------------------------------------------------------------- whole messages and errors


def test_a_200_that_is_no_message_is_an_error(wire: Any) -> None:
    for body in (b"{}", b"[]", b"<html>", b'{"content":"x"}', b'{"content":[1]}'):
        error = error_of(wire, wire.json(body), stream=False)
        assert "unreadable reply" in str(error)


def test_errors_are_read_in_this_dialect_too(wire: Any) -> None:
    body = {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}
    answer = wire.json(json.dumps(body).encode(), status=429, headers={"retry-after": "7"})
    error = error_of(wire, answer, stream=False)
    assert (error.status, error.code, error.retry_after) == (429, "rate_limit_error", 7.0)
    assert "slow down" in str(error)


def test_a_spent_credit_is_a_quota(wire: Any) -> None:
    text = "Your credit balance is too low to access the API."
    body = {"type": "error", "error": {"type": "invalid_request_error", "message": text}}
    error = error_of(wire, wire.json(json.dumps(body).encode(), status=400))
    assert (error.code, error.retryable) == ("insufficient_quota", False)


# ---------------------------------------------------------------- requests


def test_the_request_is_the_documented_one(wire: Any) -> None:
    tools = [ToolSpec("tool_a", "Does A.", {"type": "object", "properties": {}})]
    history = [
        Message("system", "Be brief."),
        Message("system", "Be kind."),
        Message("user", "Which?"),
        Message("assistant", "Both.", (A, B)),
        Message("tool", "a!", call_id="A", outcome="ok"),
        Message("tool", "no b", call_id="B", outcome="error"),
        Message("user", "Go on."),
        Message("assistant", "Done."),
    ]

    def use(call: Call) -> Any:
        name, arguments = call.name, json.loads(call.arguments)
        return {"type": "tool_use", "id": call.id, "name": name, "input": arguments}

    assert sent(wire, history, tools) == {
        "model": "m",
        "max_tokens": 8192,
        "system": "Be brief.\n\nBe kind.",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Which?"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "Both."}, use(A), use(B)]},
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "A", "content": "a!"},
                    {
                        "type": "tool_result",
                        "tool_use_id": "B",
                        "content": "no b",
                        "is_error": True,
                    },
                    {"type": "text", "text": "Go on."},
                ],
            },
            {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
        ],
        "tools": [
            {
                "name": "tool_a",
                "description": "Does A.",
                "input_schema": {"type": "object", "properties": {}},
            }
        ],
    }


def test_the_headers_are_the_documented_ones(wire: Any) -> None:
    answer = wire.json(b'{"content":[],"stop_reason":"end_turn"}')
    request = wire.request(USER, (), MessagesModel, answer, api_key="k", path="/v1")
    assert request.target == "/v1/messages"
    assert request.headers["x-api-key"] == "k"
    assert request.headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in request.headers


def test_results_go_first_in_their_message_whatever_came_between(wire: Any) -> None:
    history = [
        *USER,
        Message("assistant", None, (A,)),
        Message("user", "hurry"),
        Message("tool", "a!", call_id="A"),
    ]
    content = sent(wire, history)["messages"][2]["content"]
    assert [block["type"] for block in content] == ["tool_result", "text"]


def test_no_empty_text_block_is_ever_sent(wire: Any) -> None:
    history = [
        Message("user", ""),
        Message("assistant", ""),
        Message("user", "  "),
        Message("assistant", None, (A,)),
        Message("tool", "", call_id="A"),
        Message("user", ""),
    ]
    messages = sent(wire, history)["messages"]
    placeholder = {"type": "text", "text": "(no text)"}
    assert [m["content"] for m in messages[:3]] == [[placeholder]] * 3
    assert messages[4]["content"] == [{"type": "tool_result", "tool_use_id": "A"}]


def test_a_system_message_in_the_middle_stays_where_it_is(wire: Any) -> None:
    history = [
        *USER,
        Message("assistant", "x"),
        Message("system", "new rule"),
        Message("user", "y"),
    ]
    body = sent(wire, history)
    assert "system" not in body
    assert [m["role"] for m in body["messages"]] == ["user", "assistant", "system", "user"]


@pytest.mark.parametrize("arguments", ["{half", "[1]", "7", ""])
def test_input_is_always_an_object(wire: Any, arguments: str) -> None:
    history = [*USER, Message("assistant", None, (Call("A", "f", arguments),))]
    history.append(Message("tool", "r", call_id="A"))
    assert isinstance(sent(wire, history)["messages"][1]["content"][0]["input"], dict)


def test_ids_and_names_that_the_service_would_refuse_are_rewritten_alike(wire: Any) -> None:
    history = [*USER, Message("assistant", None, (Call("search:0", "no such tool", "{}"),))]
    history.append(Message("tool", "r", call_id="search:0"))
    _, assistant, results = sent(wire, history)["messages"]
    use, result = assistant["content"][0], results["content"][0]
    assert use["id"] == result["tool_use_id"]
    for name in (use["id"], use["name"]):
        assert name.replace("_", "").replace("-", "").isalnum()


def test_max_output_and_options_stand_in_the_body(wire: Any) -> None:
    assert sent(wire, USER, max_output=30)["max_tokens"] == 30
    body = sent(wire, USER, options={"max_tokens": 99, "temperature": 0})
    assert (body["max_tokens"], body["temperature"]) == (99, 0)
    assert sent(wire, USER, max_output=30, options={"max_tokens": 99})["max_tokens"] == 30


def test_lone_surrogates_never_reach_the_wire(wire: Any) -> None:
    history = [*USER, Message("assistant", "a\ud83d", (Call("A", "f", '{"x":"\\ud83d"}'),))]
    history.append(Message("tool", "\udc00", call_id="A"))
    _, assistant, results = sent(wire, history)["messages"]
    assert assistant["content"][0]["text"] == "a\ufffd"
    assert assistant["content"][1]["input"] == {"x": "\ufffd"}
    assert results["content"][0]["content"] == "\ufffd"


# ---------------------------------------------------------------- what goes back unread


def thoughtful(wire: Any) -> list[bytes]:
    return [
        start(wire),
        opened(wire, 0, type="thinking", thinking="", signature=""),
        delta(wire, 0, thinking="hm, "),
        delta(wire, 0, thinking="well"),
        delta(wire, 0, signature="sig=="),
        closed(wire, 0),
        opened(wire, 1, type="redacted_thinking", data="xyz"),
        used(wire, 2, A, caller={"type": "direct"}),
        delta(wire, 2, partial_json=A.arguments),
        opened(wire, 3, type="text", text=""),
        delta(wire, 3, text="then"),
        *end(wire, "tool_use"),
    ]


def test_thinking_goes_back_with_its_signature_in_its_place(wire: Any) -> None:
    reply = reply_to(wire, thoughtful(wire))
    assert (reply.text, reply.calls) == ("then", (A,))
    message = Message("assistant", reply.text, reply.calls, opaque=reply.opaque)
    history = [*USER, message, Message("tool", "r", call_id="A")]
    assert sent(wire, history)["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "hm, well", "signature": "sig=="},
        {"type": "redacted_thinking", "data": "xyz"},
        {"type": "tool_use", "id": "A", "name": "tool_a", "input": {"t": "A"}},
        {"type": "text", "text": "then"},
    ]


def test_calls_that_the_loop_renamed_go_back_renamed(wire: Any) -> None:
    reply = reply_to(wire, thoughtful(wire))
    own = Call("A_2p0", "tool_a", "{}")
    message = Message("assistant", reply.text, (own,), opaque=reply.opaque)
    content = sent(wire, [*USER, message, Message("tool", "r", call_id="A_2p0")])["messages"][1]
    use = content["content"][2]
    assert (use["id"], use["input"]) == ("A_2p0", {})


def test_a_plain_reply_carries_nothing_opaque(wire: Any) -> None:
    events = [start(wire), *said(wire, "x"), used(wire, 1, A, caller={"type": "direct"})]
    assert reply_to(wire, [*events, *end(wire, "tool_use")]).opaque == {}


def test_thinking_of_a_cut_reply_has_no_signature_and_is_not_sent_back(wire: Any) -> None:
    events = [start(wire), opened(wire, 0, type="thinking", thinking="", signature="")]
    reply = reply_to(wire, [*events, delta(wire, 0, thinking="hm"), *end(wire, "max_tokens")])
    assert reply.finish == "length"
    history = [*USER, Message("assistant", "(cut)", opaque=reply.opaque), *USER]
    assert sent(wire, history)["messages"][1]["content"] == [{"type": "text", "text": "(cut)"}]


def test_a_paused_turn_goes_back_as_it_came_and_last(wire: Any) -> None:
    search = {"type": "server_tool_use", "id": "srv1", "name": "web_search", "input": {}}
    events = [start(wire), *said(wire, "Searching."), opened(wire, 1, **search)]
    events += [delta(wire, 1, partial_json='{"query":"x"}'), closed(wire, 1)]
    reply = reply_to(wire, [*events, *end(wire, "pause_turn")])
    assert (reply.finish, reply.calls) == ("pause", ())
    history = [*USER, Message("assistant", reply.text, opaque=reply.opaque)]
    last = sent(wire, history)["messages"][-1]
    assert last == {
        "role": "assistant",
        "content": [{"type": "text", "text": "Searching."}, {**search, "input": {"query": "x"}}],
    }


def test_the_opaque_part_survives_json(wire: Any) -> None:
    reply = reply_to(wire, thoughtful(wire))
    opaque = json.loads(json.dumps(reply.opaque))
    history = [*USER, Message("assistant", reply.text, reply.calls, opaque=opaque)]
    again = [*USER, Message("assistant", reply.text, reply.calls, opaque=reply.opaque)]
    assert sent(wire, history) == sent(wire, again)


def test_the_official_sdk_accepts_our_request_as_its_own(wire: Any) -> None:
    from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
    from pydantic import TypeAdapter

    reply = reply_to(wire, thoughtful(wire))
    history = [
        Message("system", "s"),
        *USER,
        Message("assistant", reply.text, reply.calls, opaque=reply.opaque),
        Message("tool", "r", call_id="A", outcome="error"),
    ]
    tools = [ToolSpec("tool_a", "Does A.", {"type": "object", "properties": {}})]
    TypeAdapter(MessageCreateParamsNonStreaming).validate_python(sent(wire, history, tools))
