"""Tool calls of a chat stream: however their fragments are labelled, two calls stay two."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakeprovider_harness.models import Call

if TYPE_CHECKING:
    from tests.harness.conftest import Wire

SEARCH = Call("call_a", "search", '{"q":"x"}')
WEATHER = Call("call_a", "get_weather", '{"city":"Oslo"}')
TIME = Call("call_b", "get_time", '{"tz":"CET"}')


def test_a_fragment_without_index_and_id_continues_the_last_call(wire: type[Wire]) -> None:
    stream = [
        wire.D(wire.calls(wire.tool(id="call_a", name="get_weather", arguments='{"city":'))),
        wire.D(wire.calls({"function": {"arguments": '"Oslo"}'}})),
        wire.F("tool_calls"),
        wire.DONE,
    ]
    assert wire.reply(stream).calls == (WEATHER,)


def test_two_calls_in_one_chunk_without_index_stay_two(wire: type[Wire]) -> None:
    both = wire.calls(
        wire.tool(id="call_a", name="get_weather", arguments=WEATHER.arguments),
        wire.tool(id="call_b", name="get_time", arguments=TIME.arguments),
    )
    stream = [wire.D(both), wire.F("tool_calls"), wire.DONE]
    assert wire.reply(stream).calls == (WEATHER, TIME)


def test_a_call_without_index_after_one_with_index_stays_its_own(wire: type[Wire]) -> None:
    stream = [
        wire.D(wire.calls(wire.tool(0, "call_a", "get_weather", arguments=WEATHER.arguments))),
        wire.D(wire.calls(wire.tool(id="call_b", name="get_time", arguments='{"tz":'))),
        wire.D(wire.calls({"function": {"arguments": '"CET"}'}})),
        wire.F("tool_calls"),
        wire.DONE,
    ]
    assert wire.reply(stream).calls == (WEATHER, TIME)


def test_fragments_that_fit_two_calls_are_an_error_and_never_merged(wire: type[Wire]) -> None:
    stream = [
        wire.D(wire.calls(wire.tool(id="a", name="f"), wire.tool(id="b", name="g"))),
        wire.D(wire.calls({"function": {"arguments": "{}"}}, {"function": {"arguments": "{}"}})),
        wire.F("tool_calls"),
        wire.DONE,
    ]
    assert "without index, id or name" in str(wire.error(stream))


def test_an_index_on_continuations_only_counts_the_calls_in_order(wire: type[Wire]) -> None:
    stream = [
        wire.D(wire.calls(wire.tool(id="call_a", name="get_weather"))),
        wire.D(wire.calls(wire.tool(id="call_b", name="get_time"))),
        wire.D(wire.calls(wire.tool(0, arguments=WEATHER.arguments))),
        wire.D(wire.calls(wire.tool(1, arguments=TIME.arguments))),
        wire.F("tool_calls"),
        wire.DONE,
    ]
    assert wire.reply(stream).calls == (WEATHER, TIME)


def test_every_call_numbered_0_stays_its_own(wire: type[Wire]) -> None:
    stream = [
        wire.D(wire.calls(wire.tool(0, "call_a", "get_weather", arguments=WEATHER.arguments))),
        wire.D(wire.calls(wire.tool(0, "call_b", "get_time", arguments='{"tz":'))),
        wire.D(wire.calls(wire.tool(0, arguments='"CET"}'))),
        wire.F("tool_calls"),
        wire.DONE,
    ]
    assert wire.reply(stream).calls == (WEATHER, TIME)


def test_an_empty_id_on_continuations_opens_no_call(wire: type[Wire]) -> None:
    stream = [
        wire.D(wire.calls(wire.tool(0, "call_a", "search", arguments=""))),
        wire.D(wire.calls(wire.tool(0, "", arguments='{"q":'))),
        wire.D(wire.calls(wire.tool(0, "", arguments='"x"}'))),
        wire.F("tool_calls"),
        wire.DONE,
    ]
    assert wire.reply(stream).calls == (SEARCH,)


@pytest.mark.parametrize("index", [0, None])
def test_id_name_and_arguments_may_come_apart(wire: type[Wire], index: int | None) -> None:
    stream = [
        wire.D(wire.calls(wire.tool(index, "call_a"))),
        wire.D(wire.calls(wire.tool(index, name="search"))),
        wire.D(wire.calls(wire.tool(index, arguments='{"q":"x"}'))),
        wire.F("tool_calls"),
        wire.DONE,
    ]
    assert wire.reply(stream).calls == (SEARCH,)


def test_a_call_without_any_id_gets_one_of_its_own(wire: type[Wire]) -> None:
    stream = [
        wire.D(wire.calls(wire.tool(0, name="search", arguments='{"q":'))),
        wire.D(wire.calls(wire.tool(0, arguments='"x"}'))),
        wire.F("tool_calls"),
        wire.DONE,
    ]
    (call,) = wire.reply(stream).calls
    assert (call.name, call.arguments) == ("search", '{"q":"x"}')
    assert call.id == "call_1_0"


def test_the_id_and_name_repeated_on_every_fragment_are_taken_once(wire: type[Wire]) -> None:
    stream = [
        wire.D(wire.calls(wire.tool(0, "call_a", "search", arguments='{"q":'))),
        wire.D(wire.calls(wire.tool(0, "call_a", "search", arguments='"x"}'))),
        wire.F("tool_calls"),
        wire.DONE,
    ]
    assert wire.reply(stream).calls == (SEARCH,)


def test_interleaved_fragments_go_to_their_own_calls(wire: type[Wire]) -> None:
    stream = [
        wire.D(wire.calls(wire.tool(0, "A", "tool_a", arguments=""))),
        wire.D(wire.calls(wire.tool(1, "B", "tool_b", arguments=""))),
        wire.D(wire.calls(wire.tool(0, arguments='{"t":"A"}'))),
        wire.D(wire.calls(wire.tool(1, arguments='{"t":"B"}'))),
        wire.F("tool_calls"),
        wire.DONE,
    ]
    assert wire.reply(stream).calls == (
        Call("A", "tool_a", '{"t":"A"}'),
        Call("B", "tool_b", '{"t":"B"}'),
    )


def test_two_choices_are_not_woven_into_one(wire: type[Wire]) -> None:
    one, two = wire.tool(0, "A", "f", arguments="{}"), wire.tool(0, "B", "g", arguments="{}")
    assembler = wire.assembled(
        wire.D({"content": "A"}, 0),
        wire.D({"content": "B"}, 1),
        wire.D({"content": "1", **wire.calls(two)}, 1),
        wire.D({"content": "0", **wire.calls(one)}, 0),
        wire.F("tool_calls", 1),
        wire.F("tool_calls", 0),
        wire.DONE,
    )
    first, second = assembler.reply(0), assembler.reply(1)
    assert (first.text, first.calls) == ("A0", (Call("A", "f", "{}"),))
    assert (second.text, second.calls) == ("B1", (Call("B", "g", "{}"),))
    assert assembler.reply() == first


_PIECES = st.lists(st.text('{}":,ab\\ 1é🙂', max_size=4), min_size=1, max_size=4)


@settings(max_examples=150, deadline=None)
@given(st.lists(_PIECES, min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_any_interleaving_of_fragments_assembles_to_the_same_calls(
    wire: type[Wire], arguments: list[list[str]], random: Any
) -> None:
    queues = [
        [wire.D(wire.calls(wire.tool(i, f"id{i}", f"f{i}", arguments="")))]
        + [wire.D(wire.calls(wire.tool(i, arguments=piece))) for piece in pieces]
        for i, pieces in enumerate(arguments)
    ]
    expected = tuple(
        Call(f"id{i}", f"f{i}", "".join(pieces) if "".join(pieces).strip() else "{}")
        for i, pieces in enumerate(arguments)
    )
    chunks = []
    while any(queues):
        chunks.append(random.choice([q for q in queues if q]).pop(0))
    reply = wire.assembled(*chunks, wire.F("tool_calls"), wire.DONE).reply()
    assert reply.calls == expected


@pytest.mark.parametrize("pieces", [[""], ["", "{}"], ["  "], [None]])
def test_no_arguments_are_the_empty_object(wire: type[Wire], pieces: list[str | None]) -> None:
    stream = [wire.D(wire.calls(wire.tool(0, "a", "f")))]
    stream += [wire.D(wire.calls(wire.tool(0, arguments=piece))) for piece in pieces]
    (call,) = wire.reply([*stream, wire.F("tool_calls"), wire.DONE]).calls
    assert json.loads(call.arguments) == {}


def test_no_arguments_of_a_cut_reply_stay_none(wire: type[Wire]) -> None:
    stream = [wire.D(wire.calls(wire.tool(0, "a", "f"))), wire.F("length"), wire.DONE]
    assert wire.reply(stream).calls == (Call("a", "f", ""),)


def test_truncated_arguments_are_left_for_the_loop_to_refuse(wire: type[Wire]) -> None:
    stream = [
        wire.D(wire.calls(wire.tool(0, "a", "f", arguments='{"q"'))),
        wire.F("tool_calls"),
        wire.DONE,
    ]
    assert wire.reply(stream).calls == (Call("a", "f", '{"q"'),)
