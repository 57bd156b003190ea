"""Anthropic message streams byte for byte: every shape makes the right reply or an error."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakeprovider_harness.models import Call, ModelReply, Usage
from fakeprovider_harness.models.messages import MessagesAssembler

if TYPE_CHECKING:
    from tests.harness.conftest import Anthropic, Wire

A, B = Call("A", "tool_a", '{"t":"A"}'), Call("B", "tool_b", '{"t":"B"}')


def test_the_documented_order_of_events_makes_a_reply(
    ant: type[Anthropic], wire: type[Wire]
) -> None:
    call = Call("toolu_1", "f", '{"a":1}')
    events = [
        ant.start(input_tokens=20, output_tokens=1),
        wire.E("ping"),
        *ant.said("Let me ", "look."),
        ant.used(1, call),
        ant.delta(1, partial_json=""),
        ant.delta(1, partial_json='{"a":'),
        ant.delta(1, partial_json="1}"),
        ant.closed(1),
        *ant.end("tool_use", output_tokens=9),
    ]
    assert ant.reply(events) == ModelReply("Let me look.", (call,), "tool_calls", Usage(20, 9), "m")


def test_interleaved_blocks_get_their_own_input(ant: type[Anthropic]) -> None:
    events = [ant.start(), ant.used(0, A), ant.used(1, B)]
    events += [ant.delta(0, partial_json='{"t":'), ant.delta(1, partial_json='{"t":')]
    events += [ant.delta(0, partial_json='"A"}'), ant.delta(1, partial_json='"B"}')]
    events += [ant.closed(0), ant.closed(1), *ant.end("tool_use")]
    assert ant.reply(events).calls == (A, B)


@pytest.mark.parametrize("pieces", [[""], [], ["", "{}"], [" "]])
def test_no_input_is_the_empty_object(ant: type[Anthropic], pieces: list[str]) -> None:
    deltas = [ant.delta(0, partial_json=piece) for piece in pieces]
    events = [ant.start(), ant.used(0, A), *deltas, ant.closed(0), *ant.end("tool_use")]
    (call,) = ant.reply(events).calls
    assert json.loads(call.arguments) == {}


def test_no_input_of_a_cut_message_stays_none(ant: type[Anthropic]) -> None:
    events = [ant.start(), ant.used(0, A), *ant.end("max_tokens")]
    assert ant.reply(events).calls == (Call("A", "tool_a", ""),)


def test_usage_is_cumulative_and_an_absent_field_keeps_its_value(
    ant: type[Anthropic],
) -> None:
    first = {"input_tokens": 20, "cache_read_input_tokens": 1000, "output_tokens": 1}
    for last in ({**first, "output_tokens": 50}, {"output_tokens": 50}):
        events = [ant.start(**first), *ant.said("x"), *ant.end("end_turn", **last)]
        assert ant.reply(events).usage == Usage(1020, 50, cached_tokens=1000)


def test_the_prompt_includes_cache_reads_and_writes(ant: type[Anthropic]) -> None:
    usage = {
        "input_tokens": 20_000,
        "cache_read_input_tokens": 80_000,
        "cache_creation_input_tokens": 500,
        "output_tokens": 1000,
    }
    events = [ant.start(**usage), *ant.said("x"), *ant.end("end_turn", output_tokens=1000)]
    assert ant.reply(events).usage == Usage(
        100_500, 1000, cached_tokens=80_000, cache_write_tokens=500
    )


def test_input_tokens_may_come_in_message_delta_only(ant: type[Anthropic]) -> None:
    events = [ant.start(input_tokens=0, output_tokens=0), *ant.said("x")]
    events += ant.end("end_turn", input_tokens=9, output_tokens=2)
    assert ant.reply(events).usage == Usage(9, 2)


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
def test_every_stop_reason_has_its_word(ant: type[Anthropic], reason: str, finish: str) -> None:
    events = [ant.start(), *ant.said("x"), *ant.end(reason)]
    assert ant.reply(events).finish == finish


def test_no_stop_reason_and_no_end_is_incomplete(ant: type[Anthropic]) -> None:
    error = ant.error([ant.start(), *ant.said("half")])
    assert error.retryable
    assert error.partial is not None
    assert error.partial.text == "half"
    assert error.partial.usage == Usage(20, 4, estimated=True)  # four bytes seen, one reported


def test_a_stop_reason_without_message_stop_is_complete(ant: type[Anthropic]) -> None:
    events = [ant.start(), *ant.said("all"), ant.end("end_turn")[0]]
    assert ant.reply(events).text == "all"


def test_message_stop_ends_the_reply_though_the_socket_stays_open(
    ant: type[Anthropic], wire: type[Wire]
) -> None:
    events = [ant.start(), *ant.said("all"), *ant.end("end_turn"), wire.HOLD]
    assert ant.reply(events).text == "all"


def test_message_stop_without_reason_is_complete_with_a_note(
    ant: type[Anthropic], wire: type[Wire]
) -> None:
    reply = ant.reply([ant.start(), *ant.said("all"), wire.E("message_stop")])
    assert (reply.text, reply.finish) == ("all", None)
    assert any("no stop reason" in note for note in reply.notes)


@pytest.mark.parametrize("before", [0, 1, 3])
def test_an_error_event_is_like_its_status(
    ant: type[Anthropic], wire: type[Wire], before: int
) -> None:
    error = {"type": "overloaded_error", "message": "Overloaded"}
    events = [ant.start(), *ant.said("a", "b")][:before]
    found = ant.error([*events, wire.E("error", error=error)])
    assert (found.status, found.code, found.retryable) == (529, "overloaded_error", True)
    assert "Overloaded" in str(found)
    if before == 0:
        assert found.partial is None  # an error in place of a reply is not charged
    else:
        assert found.partial is not None
        assert found.partial.text == ("a" if before == 3 else "")


def test_an_error_after_a_complete_call_is_no_reply(ant: type[Anthropic], wire: type[Wire]) -> None:
    call = [ant.used(0, A), ant.delta(0, partial_json=A.arguments), ant.closed(0)]
    error = wire.E("error", error={"type": "api_error", "message": "boom"})
    found = ant.error([ant.start(), *call, error])
    assert found.partial is not None
    assert found.partial.calls == (A,)


def test_events_out_of_order_are_errors_that_may_be_retried(
    ant: type[Anthropic],
) -> None:
    early = ant.error([*ant.said("x"), ant.start()])
    twice = ant.error([ant.start(), ant.start()])
    lost = ant.error([ant.start(), ant.delta(7, text="x")])
    assert "before message_start" in str(early)
    assert "second message_start" in str(twice)
    assert "block 7" in str(lost)
    assert all(error.retryable for error in (early, twice, lost))


def test_a_whole_input_in_the_start_is_used_when_no_delta_comes(ant: type[Anthropic]) -> None:
    events = [ant.start(), ant.used(0, A, input={"t": "A"}), ant.closed(0)]
    assert ant.reply([*events, *ant.end("tool_use")]).calls == (A,)


def test_several_objects_in_one_block_stay_malformed(ant: type[Anthropic]) -> None:
    events = [ant.start(), ant.used(0, A)]
    events += [ant.delta(0, partial_json=json_) for json_ in ('{"a":1}', '{"a":2}')]
    (call,) = ant.reply([*events, *ant.end("tool_use")]).calls
    with pytest.raises(ValueError, match="Extra data"):
        json.loads(call.arguments)


def test_unknown_events_deltas_and_fields_are_passed_over(
    ant: type[Anthropic], wire: type[Wire]
) -> None:
    events = [
        ant.start(),
        wire.E("content_block_glow", index=4),
        ant.opened(0, type="text", text=""),
    ]
    events += [wire.E("content_block_delta", index=0, delta={"type": "new_delta", "x": 1})]
    events += [ant.delta(0, text="ok"), *ant.end("end_turn")]
    assert ant.reply(events).text == "ok"


def test_text_is_handed_on_as_it_comes(ant: type[Anthropic]) -> None:
    seen: list[str] = []
    events = [ant.start(), *ant.said("He", "llo"), *ant.end("end_turn")]
    ant.reply(events, on_text=seen.append)
    assert seen == ["He", "llo"]


_PIECES = st.lists(st.text('{}":,ab é🙂', max_size=4), max_size=4)


@settings(max_examples=100, deadline=None)
@given(st.lists(_PIECES, min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_any_interleaving_of_blocks_assembles_to_the_same_calls(
    ant: type[Anthropic], inputs: list[list[str]], random: Any
) -> None:
    queues = [
        [ant.used(i, Call(f"i{i}", f"n{i}", ""))]
        + [ant.delta(i, partial_json=piece) for piece in pieces]
        + [ant.closed(i)]
        for i, pieces in enumerate(inputs)
    ]
    events = [ant.start()]
    while any(queues):
        events.append(random.choice([q for q in queues if q]).pop(0))
    joined = ["".join(pieces) for pieces in inputs]
    expected = [Call(f"i{i}", f"n{i}", t if t.strip() else "{}") for i, t in enumerate(joined)]
    assert list(ant.assembled([*events, *ant.end("tool_use")]).calls) == expected


_VALUES = st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=5), max_size=3)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=20), st.text(max_size=20), st.lists(_VALUES, max_size=3), st.booleans())
def test_a_whole_message_and_its_stream_are_equal(
    ant: type[Anthropic], thought: str, text: str, inputs: list[dict[str, Any]], thinks: bool
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
    events = [ant.start(**usage)]
    for i, block in enumerate(content):
        events.append(ant.opened(i, **{k: empty.get(k, v) for k, v in block.items()}))
        for key in ("thinking", "signature", "text"):
            events += [ant.delta(i, **{key: block[key]})] if key in block else []
        if "input" in block:
            source = json.dumps(block["input"], ensure_ascii=False, separators=(",", ":"))
            events += [ant.delta(i, partial_json=p) for p in (source[:3], source[3:])]
        events.append(ant.closed(i))
    assert ant.assembled([*events, *ant.end("end_turn", output_tokens=9)]) == one.reply()


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_any_cut_into_tcp_writes_gives_the_same_reply(
    ant: type[Anthropic], wire: type[Wire], data: st.DataObject
) -> None:
    call = Call("toolu_1", "f", '{"é":"🙂"}')
    events = [ant.start(), wire.E("ping"), *ant.said("häß", "lich 🙂"), ant.used(1, call)]
    events += [ant.delta(1, partial_json=call.arguments), *ant.end("tool_use")]
    stream = b"".join(events)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=10)))
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    answer = wire.Answer([p for p in pieces if p], framing="chunked")
    assert ant.reply(answer) == ant.assembled(events)


# ---------------------------------------------------------------- whole messages and errors


def test_a_200_that_is_no_message_is_an_error(ant: type[Anthropic], wire: type[Wire]) -> None:
    for body in (b"{}", b"[]", b"<html>", b'{"content":"x"}', b'{"content":[1]}'):
        error = ant.error(wire.json(body), stream=False)
        assert "unreadable reply" in str(error)


def test_errors_are_read_in_this_dialect_too(ant: type[Anthropic], wire: type[Wire]) -> None:
    body = {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}
    answer = wire.json(json.dumps(body).encode(), status=429, headers={"retry-after": "7"})
    error = ant.error(answer, stream=False)
    assert (error.status, error.code, error.retry_after) == (429, "rate_limit_error", 7.0)
    assert "slow down" in str(error)


def test_a_spent_credit_is_a_quota(ant: type[Anthropic], wire: type[Wire]) -> None:
    text = "Your credit balance is too low to access the API."
    body = {"type": "error", "error": {"type": "invalid_request_error", "message": text}}
    error = ant.error(wire.json(json.dumps(body).encode(), status=400))
    assert (error.code, error.retryable) == ("insufficient_quota", False)
