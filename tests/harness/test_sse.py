"""Events out of bytes: the standard's rules, and any way of cutting the bytes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakeprovider_harness.models.sse import Event, SSEParser


def parse(*chunks: bytes) -> list[Event]:
    parser = SSEParser()
    events = [event for chunk in chunks for event in parser.feed(chunk)]
    return events + parser.close()


@pytest.mark.parametrize(
    "noise",
    [
        b": PROCESSING\n\n",
        b":\n",
        b":\n\n",
        b"retry: 3000\n\n",
        b"event: ping\n\n",
        b"data:\n\n",
        b"data: \n\n",
        b"data\n\n",
        b"id: 7\n\n",
        b"\n\n\n",
        b"nonsense\n\n",
    ],
)
def test_comments_and_events_without_data_are_not_reported(noise: bytes) -> None:
    assert parse(noise + b"data: x\n\n" + noise) == [Event(b"x")]


def test_a_comment_inside_an_event_leaves_it_whole() -> None:
    assert parse(b":x\ndata: {}\n\n") == [Event(b"{}")]
    assert parse(b"data: a\n: ping\ndata: b\n\n") == [Event(b"a\nb")]


def test_a_comment_with_a_blank_line_after_an_id_is_no_event() -> None:
    assert parse(b"id: 7\ndata: {}\n\n: ping\n\n") == [Event(b"{}")]


def test_the_event_type_belongs_to_one_event_only() -> None:
    events = parse(b"event: ping\n\ndata: a\n\nevent: x\ndata: b\n\ndata: c\n\n")
    assert events == [Event(b"a"), Event(b"b", "x"), Event(b"c")]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_every_line_ending_of_the_standard_is_read(end: bytes) -> None:
    assert parse(b"event: e" + end + b"data: 1" + end + end + b"data:2" + end + end) == [
        Event(b"1", "e"),
        Event(b"2"),
    ]


def test_one_leading_space_is_dropped_and_a_byte_order_mark_too() -> None:
    assert parse(b"\xef\xbb\xbfdata:  x\n\n") == [Event(b" x")]


def test_line_separators_inside_json_text_do_not_end_a_line() -> None:
    text = "a\u2028b\x85c\x0bd".encode()
    assert parse(b"data: " + text + b"\n\n") == [Event(text)]


def test_at_the_end_a_whole_line_counts_and_half_a_line_does_not() -> None:
    assert parse(b"data: [DONE]\n") == [Event(b"[DONE]")]
    assert parse(b'data: {"half') == []
    assert parse(b"data: a\n\ndata: b") == [Event(b"a")]


def test_closing_twice_reports_nothing_twice() -> None:
    parser = SSEParser()
    parser.feed(b"data: a\n")
    assert (parser.close(), parser.close()) == ([Event(b"a")], [])


_LINES = st.sampled_from(
    [
        b"data: {}",
        b"data:x",
        "data: häßlich 🙂\u2028".encode(),
        b"data:",
        b"event: e",
        b"id: 1",
        b": c",
        b":",
        b"",
        b"",
        b"retry: 1",
    ]
)
_ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(_LINES, _ENDS), max_size=30), st.data())
def test_any_cut_of_the_bytes_gives_the_same_events(
    lines: list[tuple[bytes, bytes]], data: st.DataObject
) -> None:
    stream = b"".join(line + end for line, end in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=12)))
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert parse(*pieces) == parse(stream)
    assert parse(*(stream[i : i + 1] for i in range(len(stream)))) == parse(stream)


def test_a_long_event_in_small_pieces_costs_linear_work() -> None:
    """A quarter of a million pieces of one line: quadratic joining would take minutes."""
    parser = SSEParser()
    for _ in range(250_000):
        parser.feed(b"xxxxxxxx")
    assert parser.feed(b"\n\n") == []
    parser.feed(b"data: ")
    for _ in range(250_000):
        parser.feed(b"yyyyyyyy")
    assert len(parser.feed(b"\n\n")[0].data) == 2_000_000
