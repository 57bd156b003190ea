"""Pace: a pure schedule, in words and by name, and what the wire makes of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakeprovider import pacing
from fakeprovider.delivery.steps import due_whole, schedule
from fakeprovider.pacing import PROFILES, BadPace, read
from fakeprovider.protocols.dialect import Frame
from fakeprovider.replies import Pace, Reply, Text
from fakeprovider.server import Server

PACES = st.builds(
    Pace,
    first_token=st.floats(0, 10),
    tokens_per_second=st.none() | st.floats(0.1, 1000),
    jitter=st.floats(0, 1),
    stall=st.floats(0, 5),
    stall_every=st.integers(0, 5),
)
FRAMES = st.lists(st.integers(0, 3).map(lambda tokens: Frame(b"x", tokens)), max_size=30)


def dues(pace: Pace, *tokens: int, seed: str = "s") -> list[float]:
    frames = [Frame(b"", count) for count in tokens]
    return [round(due, 6) for _, due in schedule(frames, pace, seed)]


def test_the_first_token_and_all_before_it_are_due_after_the_first_wait() -> None:
    assert dues(Pace(0.5, 10), 0, 0, 1, 1, 1) == [0.5, 0.5, 0.5, 0.6, 0.7]


def test_what_carries_no_token_is_due_with_what_came_before() -> None:
    assert dues(Pace(0.5, 10), 1, 0, 1, 0) == [0.5, 0.5, 0.6, 0.6]


def test_an_event_with_several_tokens_is_due_with_the_last_of_them() -> None:
    assert dues(Pace(0, 10), 3, 2) == [0.2, 0.4]


def test_a_stall_comes_after_so_many_tokens() -> None:
    assert dues(Pace(0, 10, stall=2, stall_every=2), 1, 1, 1, 1, 1) == [0, 0.1, 2.2, 2.3, 4.4]


def test_without_a_speed_everything_comes_with_the_first_token() -> None:
    assert dues(Pace(0.5), 1, 1, 1) == [0.5, 0.5, 0.5]


@given(PACES, FRAMES, st.text(max_size=8))
def test_times_never_go_back_and_follow_from_pace_and_conversation(
    pace: Pace, frames: list[Frame], seed: str
) -> None:
    found = [due for _, due in schedule(frames, pace, seed)]
    assert found == sorted(found)
    assert found == [due for _, due in schedule(frames, pace, seed)]


@given(PACES, st.integers(1, 30), st.text(max_size=8))
def test_a_whole_reply_is_due_with_the_last_token_of_its_stream(
    pace: Pace, tokens: int, seed: str
) -> None:
    *_, (_, last) = schedule([Frame(b"", 1)] * tokens, pace, seed)
    assert due_whole(tokens, pace, seed) == last


def test_jitter_varies_gaps_within_its_fraction_and_by_conversation() -> None:
    pace = Pace(1, 10, jitter=0.3)
    one, other = dues(pace, *[1] * 200, seed="a"), dues(pace, *[1] * 200, seed="b")
    assert one != other
    gaps = [later - earlier for earlier, later in pairwise(one)]
    assert 0.7 <= one[0] <= 1.3
    assert 0.0699 <= min(gaps) < 0.08
    assert 0.12 < max(gaps) <= 0.1301


@pytest.mark.parametrize(
    "wrong",
    [
        {"first_token": -1},
        {"first_token": float("nan")},
        {"tokens_per_second": 0},
        {"jitter": 1.1},
        {"stall": -1},
        {"stall_every": -1},
    ],
)
def test_a_pace_that_no_clock_can_keep_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        Pace(**wrong)


def test_a_pace_in_words() -> None:
    assert read({}) is None
    assert read({"latency": "500"}) == Pace(0.5)
    assert read({"tps": "20", "jitter": "0.1"}) == Pace(0, 20, 0.1)
    assert read({"stall": "100"}) == Pace(stall=0.1, stall_every=8)
    assert read({"stall": "100", "stall_every": "3"}) == Pace(stall=0.1, stall_every=3)
    profile = PROFILES["gpt-5.4"].pace
    assert read({"pace": "gpt-5.4"}) == profile
    assert read({"pace": "gpt-5.4", "latency": "0"}) == replace(profile, first_token=0.0)
    assert read({"tps": "7"}, base=Pace(2, 5)) == Pace(2, 7)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"pace": "warp"}, "pace='warp': must be one of gemini-2.5-flash"),
        ({"latency": "soon"}, "latency='soon': must be a number"),
        ({"tps": "-1"}, "tps='-1': must be a number, 0 or more"),
        ({"tps": "0"}, "tps must be over 0, up to [0-9,]+$"),
        ({"jitter": "2"}, "jitter must be 0 to 1"),
    ],
)
def test_words_that_are_no_pace_say_what_is(words: dict[str, str], told: str) -> None:
    with pytest.raises(BadPace, match=told):
        read(words)


@pytest.mark.parametrize("name", PROFILES)
def test_every_profile_has_a_source(name: str) -> None:
    assert "https://" in PROFILES[name].source
    assert PROFILES[name].pace != Pace()


def scripted(conversation: Any) -> Reply:
    """Ten words, slowly."""
    return Reply((Text("one two three four five six seven eight nine ten"),), pace=Pace(0.2, 100))


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server("plan", scripts={"scripted": scripted}, pace=Pace(0.05)) as running:
        yield running


def timed(server: Server, path: str, stream: bool) -> tuple[float, Any]:
    """Seconds until the first byte of the body, and the journal's record."""
    body = {"model": "m", "messages": [{"role": "user", "content": "go"}], "stream": stream}
    url = f"{server.url_for(path, run='paced')}/chat/completions"
    begun = time.perf_counter()
    with httpx.Client() as client, client.stream("POST", url, json=body) as reply:
        first, *_ = [time.perf_counter() - begun for _ in reply.iter_raw()]
    for _ in range(100):
        found = server.journal.exchanges("paced")
        if found:
            server.journal.clear("paced")
            return first, found[-1]
        time.sleep(0.01)
    raise AssertionError("not journaled")


@pytest.mark.parametrize("stream", [False, True])
def test_the_path_decides_then_the_script_then_the_server(server: Server, stream: bool) -> None:
    """Asked-for times are exact; a wait never ends early."""
    first, path = timed(server, "scripted;latency=150", stream)
    assert path.paced.asked_last_ms == 150
    assert first >= 0.15
    _, script = timed(server, "scripted", stream)
    assert script.paced.asked_last_ms == pytest.approx(290, abs=10)
    assert script.paced.last_ms >= 289
    _, own = timed(server, "plan", stream)
    assert own.paced.asked_last_ms == 50


def test_a_stream_is_flushed_token_by_token(server: Server) -> None:
    """The first token is out long before the last one."""
    _, found = timed(server, "scripted;latency=0,tps=15", True)
    assert found.paced.asked_first_ms == 0
    assert found.paced.asked_last_ms == 600
    assert found.paced.first_ms < found.paced.last_ms / 2


def test_a_stall_puts_everything_after_it_off(server: Server) -> None:
    """The pace goes on where it stood, instead of making up for the silence."""
    path = "scripted;latency=0,tps=50;fault=stall,after=3,seconds=0.3"
    _, found = timed(server, path, True)
    assert found.paced.asked_last_ms == pytest.approx(480)
    assert found.paced.last_ms >= 479


def test_words_for_a_pace_are_no_words_for_anything_else() -> None:
    assert len(set(pacing.WORDS)) == len(pacing.WORDS)
