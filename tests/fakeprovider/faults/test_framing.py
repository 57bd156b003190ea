"""Streams that say the same in other bytes."""

from __future__ import annotations

import re

import pytest
from faulty_replies import Post, RequestBody, Send

from fakeprovider.delivery.steps import Piece

EACH = pytest.mark.parametrize("dialect", ["chat", "messages", "responses"])

COMMENTS = {
    "processing": b": PROCESSING\n\n",
    "bare": b":\n",
    "ping": b": ping\n",
    "ping_blank": b": ping\n\n",
    "retry": b"retry: 3000\n\n",
    "event": b"event: ping\n\n",
    "empty_data": b"data:\n\n",
}


@EACH
@pytest.mark.parametrize("form", COMMENTS)
def test_a_comment_stands_before_every_event(sent: Send, dialect: str, form: str) -> None:
    legal = sent(dialect, stream=True).body
    found = sent(dialect, f"comments,form={form}", stream=True).body
    noise = COMMENTS[form]
    assert found == b"".join(noise + event + b"\n\n" for event in legal.split(b"\n\n")[:-1])


@EACH
def test_a_comment_may_stand_inside_an_event_or_after_one_with_an_id(
    sent: Send, dialect: str
) -> None:
    events = sent(dialect, stream=True).body.split(b"\n\n")[:-1]
    inside = sent(dialect, "comments,form=inside", stream=True).body
    assert inside == b"".join(b":x\n" + event + b"\n\n" for event in events)
    after = sent(dialect, "comments,form=after_id", stream=True).body
    assert after == b"".join(b"id: 7\n" + event + b"\n\n: ping\n\n" for event in events)


@EACH
def test_all_forms_of_comments_come_in_turn(sent: Send, dialect: str) -> None:
    found = sent(dialect, "comments", stream=True).body
    assert all(noise in found for noise in (*COMMENTS.values(), b":x\n", b"id: 7\n"))


@EACH
def test_lines_end_in_crlf_or_in_cr(sent: Send, dialect: str) -> None:
    legal = sent(dialect, stream=True).body
    crlf = sent(dialect, "line_ends", stream=True).body
    assert crlf == legal.replace(b"\n", b"\r\n")
    cr = sent(dialect, "line_ends,ends=cr", stream=True).body
    assert cr == legal.replace(b"\n", b"\r")


@EACH
def test_the_space_after_the_colon_may_be_missing(sent: Send, dialect: str) -> None:
    legal = sent(dialect, stream=True).body
    found = sent(dialect, "no_space", stream=True).body
    assert found == re.sub(rb"^(data|event): ", rb"\1:", legal, flags=re.MULTILINE)
    assert found != legal


@EACH
def test_a_byte_order_mark_stands_before_everything(sent: Send, dialect: str) -> None:
    legal = sent(dialect, stream=True).body
    assert sent(dialect, "byte_order_mark", stream=True).body == b"\xef\xbb\xbf" + legal


@EACH
def test_writes_may_be_small_or_one(sent: Send, dialect: str) -> None:
    legal = sent(dialect, stream=True).body
    split = sent(dialect, "split_writes,bytes=3", stream=True)
    assert split.body == legal
    assert max(len(step.data) for step in split.steps if isinstance(step, Piece)) == 3
    one = sent(dialect, "one_write", stream=True)
    assert [step.data for step in one.steps if isinstance(step, Piece)] == [legal]


@EACH
def test_an_event_may_come_twice_or_be_missing(sent: Send, dialect: str) -> None:
    events = sent(dialect, stream=True).body.split(b"\n\n")[:-1]
    twice = sent(dialect, "event_repeated,at=3", stream=True).body.split(b"\n\n")[:-1]
    assert twice == [*events[:4], *events[3:]]
    missing = sent(dialect, "event_dropped,at=3", stream=True).body.split(b"\n\n")[:-1]
    assert missing == [*events[:3], *events[4:]]


def test_split_writes_really_arrive_apart(raw: Post, request_body: RequestBody) -> None:
    """Each is an HTTP chunk of its own, also inside a character."""
    heard = raw(
        "/both;fault=split_writes,bytes=5/v1/chat/completions", request_body("chat", True), 0.3
    )
    sizes = re.findall(rb"(?:^|\r\n)([0-9a-f]+)\r\n", heard.body)
    assert {int(size, 16) for size in sizes} <= {0, 1, 2, 3, 4, 5}
