"""Reading on from an earlier request gives exactly what reading the whole gives."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakeprovider.errors import ApiError
from fakeprovider.parsing import caches as all_caches
from fakeprovider.parsing import request_reader
from fakeprovider.parsing.caches import PrefixCache, RequestCaches
from fakeprovider.protocols.chat.dialect import CHAT

USER = {"role": "user", "content": "go"}


@pytest.fixture(autouse=True)
def every_prefix_is_worthwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short conversations are resumed too, so that examples stay small."""
    monkeypatch.setattr(all_caches, "WORTHWHILE", 1)


def turn(index: int, text: str, *, answered: bool = True) -> list[dict[str, Any]]:
    call = {"id": f"fake{index}", "function": {"name": "f", "arguments": "{}"}}
    asked = {"role": "assistant", "content": text, "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": f"fake{index}", "content": text}
    return [asked, result] if answered else [asked]


def outcome(body: bytes, caches: RequestCaches) -> tuple[str, Any]:
    """What a body comes to, error or not, as something to compare."""
    try:
        return "conversation", CHAT.parse(body, caches)
    except ApiError as error:
        return "error", (error.status, error.message, error.param, error.code)


texts = st.text(max_size=12)
layouts = st.sampled_from([(",", ":"), (", ", ": "), (",\n\t", ":")])
befores = st.sampled_from(["", '"model":"m",', '"x":[{"messages":[1]}],', '"messages":[],'])
endings = st.sampled_from(["]", " ]", ",]", ", ", "x]", ",{}]", "]]"])
afters = st.sampled_from(
    [
        ',"model":"m"',
        ',"model":"m","tools":null',
        ',"model":"\\u006d"',
        ',"model":"m","messages":[{"role":"user","content":"last"}]',
        ',"model":"m","m\\u0065ssages":[{"role":"user","content":"last"}]',
        ',"model":"m","x":{"messages":[]}',
        ',"model":"m","messages":[]',
        ',"model":5',
        ',"model":"m"}',
        "",
    ]
)


@st.composite
def conversations(draw: st.DrawFn) -> list[bytes]:
    """Requests of one conversation, mostly each going on where the one before ended."""
    layout, before = draw(layouts), draw(befores)
    messages: list[dict[str, Any]] = [{"role": "user", "content": draw(texts)}]
    bodies = []
    for index in range(draw(st.integers(1, 5))):
        array = json.dumps(messages, separators=layout, ensure_ascii=draw(st.booleans()))
        for ending in ["]", draw(endings)]:
            bodies.append(f'{{{before}"messages":{array[:-1]}{ending}{draw(afters)}}}'.encode())
        messages += turn(index, draw(texts), answered=draw(st.integers(0, 5)) > 0)
        if draw(st.integers(0, 5)) == 0:
            messages.append({"role": draw(st.sampled_from(["user", "banana"])), "content": "x"})
    return bodies


@given(conversations())
@settings(max_examples=200)
def test_a_resumed_reading_is_the_reading_of_the_whole(bodies: list[bytes]) -> None:
    """Conversation, counts, violations, digest and errors are the same, request by request."""
    caches = RequestCaches()
    for body in [*bodies, *bodies]:
        assert outcome(body, caches) == outcome(body, RequestCaches())


def test_a_following_request_reads_only_what_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second request, and the third, decode their new messages and none of the old ones."""
    caches = RequestCaches()
    first = [USER, *turn(0, "a" * 50)]
    CHAT.parse(json.dumps({"messages": first, "model": "m"}).encode(), caches)
    seen = []
    read = caches.read

    def counting(dialect: str, raw: bytes, *rest: Any) -> Any:
        seen.append(raw)
        return read(dialect, raw, *rest)

    monkeypatch.setattr(caches, "read", counting)
    for index in (1, 2):
        seen.clear()
        first += turn(index, "b")
        found = CHAT.parse(json.dumps({"messages": first, "model": "m"}).encode(), caches)
        assert [json.loads(raw) for raw in seen] == turn(index, "b")
        assert (found.turn, len(found.messages)) == (index + 1, 3 + 2 * index)


def test_two_ways_on_from_one_request_do_not_mix() -> None:
    """A state that is continued twice gives each conversation its own history."""
    caches = RequestCaches()

    def after(text: str) -> tuple[str, ...]:
        messages = [USER, *turn(0, "shared"), *turn(1, text)]
        found = CHAT.parse(json.dumps({"messages": messages, "model": "m"}).encode(), caches)
        return tuple(message.text for message in found.messages)

    CHAT.parse(json.dumps({"messages": [USER, *turn(0, "shared")], "model": "m"}).encode(), caches)
    assert after("left") == ("go", "shared", "shared", "left", "left")
    assert after("right") == ("go", "shared", "shared", "right", "right")


def test_the_digest_is_that_of_the_body() -> None:
    """Read whole, read on and read again: always the sha256 of the bytes."""
    caches = RequestCaches()
    for messages in ([USER], [USER, *turn(0, "x")], [USER, *turn(0, "x")]):
        body = json.dumps({"messages": messages, "model": "m"}).encode()
        assert CHAT.parse(body, caches).digest == hashlib.sha256(body).hexdigest()


def test_checkpoints_stay_within_their_bytes() -> None:
    """A long conversation and many others leave no more than the limit behind."""
    prefixes = PrefixCache(200_000)
    caches = RequestCaches()
    caches.prefixes = prefixes
    for name in range(30):
        messages: list[dict[str, Any]] = [{"role": "user", "content": f"{name}" * 3000}]
        for index in range(5):
            messages += turn(index, "x" * 2000)
            CHAT.parse(json.dumps({"messages": messages, "model": "m"}).encode(), caches)
            assert prefixes.used <= 200_000
    assert prefixes.used > 100_000


def test_the_array_that_stands_in_the_body_twice_is_not_remembered() -> None:
    """Which of the two is the request's is not known from its bytes: it is read anew each time."""
    caches = RequestCaches()
    array = b'[{"role":"user","content":"a"}]'
    body = b'{"x":%b,"messages":%b,"model":"m"}' % (array, array)
    assert CHAT.parse(body, caches) == CHAT.parse(body, RequestCaches())
    assert caches.prefixes.used == 0
    assert request_reader._last_end(b"[1, 2 ]") == 5
