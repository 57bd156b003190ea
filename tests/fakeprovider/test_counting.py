"""The wire rule: counted message by message, and equal to the count of the one string."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fakeprovider.conversation import Call, Message, Offered
from fakeprovider.parsing.caches import RequestCaches
from fakeprovider.parsing.counting import (
    IMAGE_TOKENS,
    canonical,
    completion_count,
    inner_count,
    last_count,
    opening,
    to_json,
    tools_count,
)
from fakeprovider.protocols.chat.dialect import CHAT
from fakeprovider.tokens import count

ENDINGS = [
    "",
    ".",
    ",",
    '"',
    "]",
    "}",
    "},",
    ' "',
    "\\",
    " ",
    "  ",
    "\n",
    "7",
    "123",
    "😀",
    "é",
    "ing",
]
contents = st.builds(lambda text, end: text + end, st.text(max_size=20), st.sampled_from(ENDINGS))
names = st.sampled_from(["list_files", "read_file", "x"])
calls = st.lists(
    st.builds(Call, st.text("abc123_-", min_size=1, max_size=8), names, contents), max_size=3
).map(tuple)
messages = st.one_of(
    st.builds(Message, st.sampled_from(["system", "user"]), contents),
    st.builds(Message, st.just("assistant"), contents, calls),
    st.builds(Message, st.just("tool"), contents, call_id=st.text("abc", max_size=5), tool=names),
)


@given(st.lists(messages, min_size=1, max_size=6))
@settings(max_examples=200)
def test_counts_per_message_add_up_to_the_one_string(transcript: list[Message]) -> None:
    """Exactly, whatever the contents end in: no token spans the cut."""
    whole = count(to_json([canonical(message) for message in transcript]))
    *inner, last = transcript
    assert opening() + sum(map(inner_count, inner)) + last_count(last) == whole
    assert last_count(last, inner_count(last)) == last_count(last)


@st.composite
def requests(draw: st.DrawFn) -> tuple[bytes, list[dict[str, Any]]]:
    """A request as some client would write it, and its messages in canonical form."""
    turns = draw(st.lists(st.tuples(contents, names, contents, contents), max_size=4))
    wire: list[dict[str, Any]] = [{"role": "developer", "content": draw(contents)}]
    form: list[dict[str, Any]] = [{"role": "system", "content": wire[0]["content"]}]
    for index, (said, name, arguments, result) in enumerate(turns):
        call = {
            "id": f"call_{index}",
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        }
        answer = {"role": "tool", "tool_call_id": f"call_{index}", "content": result}
        wire += [{"role": "assistant", "content": said, "tool_calls": [call]}, answer]
        form += [
            {"role": "assistant", "content": said or None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call_{index}", "name": name, "content": result},
        ]
    shuffled = [_shuffled(draw, message) for message in wire]
    body = {"model": "m", "extra": None, "messages": shuffled}
    text = json.dumps(
        _shuffled(draw, body),
        ensure_ascii=draw(st.booleans()),
        indent=draw(st.sampled_from([None, 1])),
        separators=draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " : ")])),
    )
    return text.encode(errors="surrogatepass"), form


def _shuffled(draw: st.DrawFn, value: dict[str, Any]) -> dict[str, Any]:
    """The same object with its keys in another order, and some that mean nothing."""
    extra = draw(st.sampled_from([{}, {"annotations": []}, {"audio": None, "index": 3}]))
    keys = draw(st.permutations([*value, *(key for key in extra if key not in value)]))
    return {key: value.get(key, extra.get(key)) for key in keys}


@given(requests())
@settings(max_examples=150)
def test_spacing_key_order_nulls_and_extra_keys_do_not_matter(
    request: tuple[bytes, list[dict[str, Any]]],
) -> None:
    """A request counts as its canonical form in one string."""
    body, form = request
    assert CHAT.parse(body, RequestCaches()).prompt_tokens == count(to_json(form))


def test_tools_count_as_far_as_they_are_given() -> None:
    """None counts 0; a description that was not given is not counted as null."""
    assert tools_count([]) == 0
    bare = '[{"type":"function","function":{"name":"f"}}]'
    assert tools_count([Offered("f")]) == count(bare)
    full = '[{"type":"function","function":{"name":"f","description":"d","parameters":{"a":1.0}}}]'
    assert tools_count([Offered("f", "d", {"a": 1.0})]) == count(full)


def test_an_image_counts_its_stated_constant() -> None:
    """Beside the text, wherever the message stands."""
    plain, shown = Message("user", "look"), Message("user", "look", images=2)
    assert inner_count(shown) - inner_count(plain) == 2 * IMAGE_TOKENS
    assert last_count(shown) - last_count(plain) == 2 * IMAGE_TOKENS


def test_a_reply_counts_its_text_and_its_calls() -> None:
    """No calls count as the empty list that stands in their place: one token."""
    assert completion_count("", []) == 1
    assert completion_count("", [Call("fake0", "list_files", "{}")]) == 23
