"""Faults of the connection, seen from the other end of a real socket."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from faulty_replies import Heard, Post, RequestBody, Send

from fakeprovider.delivery.steps import Piece
from fakeprovider.server import Server

DIALECTS = ["chat", "messages", "responses"]
PATHS = {"chat": "/chat/completions", "messages": "/messages", "responses": "/responses"}
FORMS = pytest.mark.parametrize("stream", [False, True])
EACH = pytest.mark.parametrize("dialect", DIALECTS)


@pytest.fixture
def posted(raw: Post, request_body: RequestBody) -> Callable[..., Heard]:
    """Posts a request whose reply has a fault."""

    def post(dialect: str, fault: str, stream: bool, seconds: float = 5.0) -> Heard:
        path = f"/~{dialect}{stream}/both;fault={fault}/v1{PATHS[dialect]}"
        return raw(path, request_body(dialect, stream), seconds)

    return post


@EACH
@FORMS
def test_reset_is_a_real_rst_after_the_request_and_before_any_byte(
    posted: Callable[..., Heard], dialect: str, stream: bool
) -> None:
    heard = posted(dialect, "reset", stream)
    assert (heard.data, heard.end) == (b"", "reset")


@EACH
@FORMS
def test_a_body_that_is_closed_in_the_middle_ends_with_fin_and_is_short(
    posted: Callable[..., Heard], dialect: str, stream: bool
) -> None:
    heard = posted(dialect, "close_mid_body,at=0.5", stream)
    assert heard.head.startswith(b"HTTP/1.1 200")
    assert heard.end == "eof"
    assert_short(heard, stream)


@EACH
@FORMS
def test_a_body_that_is_reset_in_the_middle_ends_with_rst_after_what_was_sent(
    posted: Callable[..., Heard], dialect: str, stream: bool
) -> None:
    heard = posted(dialect, "reset_mid_body,at=0.5", stream)
    assert heard.head.startswith(b"HTTP/1.1 200")
    assert heard.end == "reset"
    assert_short(heard, stream)


def assert_short(heard: Any, stream: bool) -> None:
    if stream:
        assert b"transfer-encoding: chunked" in heard.head.lower()
        assert not heard.body.endswith(b"0\r\n\r\n")
        assert len(heard.body) > 100
    else:
        length = int(heard.head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        assert 0 < len(heard.body) < length


@EACH
@FORMS
def test_a_hang_before_headers_sends_nothing_until_the_client_gives_up(
    posted: Callable[..., Heard], server: Server, dialect: str, stream: bool
) -> None:
    heard = posted(dialect, "hang_before_headers", stream, seconds=0.1)
    assert (heard.data, heard.end) == (b"", "open")
    left = journaled(server, f"{dialect}{stream}", "hang_before_headers")
    assert left.cancelled
    assert left.status == 0


@EACH
@FORMS
def test_a_hang_after_headers_sends_them_and_nothing_else(
    posted: Callable[..., Heard], server: Server, dialect: str, stream: bool
) -> None:
    heard = posted(dialect, "hang_after_headers", stream, seconds=0.1)
    assert heard.head.startswith(b"HTTP/1.1 200")
    assert (heard.body, heard.end) == (b"", "open")
    assert journaled(server, f"{dialect}{stream}", "hang_after_headers").cancelled


def journaled(server: Server, run: str, fault: str) -> Any:
    """The exchange of a client that went away, once the server has noticed."""
    for _ in range(1_000):  # polled: what is waited for is another thread's doing
        found = [one for one in server.journal.exchanges(run) if one.fault == fault]
        if found:
            return found[-1]
        time.sleep(0.01)
    raise AssertionError("not journaled within ten seconds")


@EACH
@pytest.mark.parametrize("name", ["hang_before_headers", "hang_after_headers"])
def test_a_hang_that_ends_is_followed_by_the_whole_reply(
    sent: Send, dialect: str, name: str
) -> None:
    found, legal = sent(dialect, f"{name},seconds=7"), sent(dialect)
    assert found.held == 7
    assert found.body == legal.body
    assert not found.exchange.broken


@EACH
@FORMS
def test_a_slow_body_comes_in_pieces_with_gaps(sent: Send, dialect: str, stream: bool) -> None:
    found, legal = (
        sent(dialect, "slow_body,bytes=10,gap=0.5", stream=stream),
        sent(dialect, stream=stream),
    )
    pieces = [step.data for step in found.steps if isinstance(step, Piece)]
    assert max(map(len, pieces)) == 10
    assert b"".join(pieces) == legal.body
    assert found.held == 0.5 * len(pieces)


def test_a_slow_body_is_slow_on_the_wire(posted: Callable[..., Heard]) -> None:
    begun = time.perf_counter()
    posted("chat", "slow_body,bytes=200,gap=0.05", False, seconds=0.5)
    assert time.perf_counter() - begun > 0.2


@EACH
@FORMS
def test_a_connection_may_be_closed_unannounced_after_a_whole_reply(
    posted: Callable[..., Heard], sent: Send, dialect: str, stream: bool
) -> None:
    heard = posted(dialect, "close_after", stream)
    assert heard.end == "eof"
    assert b"connection: close" not in heard.head.lower()
    if stream:
        assert heard.body.endswith(b"0\r\n\r\n")
    else:
        assert heard.body == sent(dialect).body


@EACH
def test_a_stream_may_be_held_open_after_its_last_event(
    posted: Callable[..., Heard], sent: Send, dialect: str
) -> None:
    heard = posted(dialect, "hold_open", True, seconds=0.2)
    assert heard.end == "open"
    assert not heard.body.endswith(b"0\r\n\r\n")
    last = sent(dialect, stream=True).body[-12:]
    assert last in heard.body


def test_without_a_fault_the_connection_stays_open(raw: Post, request_body: RequestBody) -> None:
    """The control: what the other tests see as an end is the fault's doing."""
    heard = raw("/both/v1/chat/completions", request_body("chat"), 0.1)
    assert heard.end == "open"
    assert heard.body.endswith(b"}")
