"""Calls, roles and choices that are labelled as look-alikes label them."""

from __future__ import annotations

from typing import Any

import pytest
from faulty_replies import Send, Sent

A, B = '{"path":"a.txt"}', '{"path":"b.txt"}'


def fragments(found: Sent) -> list[dict[str, Any]]:
    """The tool call deltas of a chat stream, in order."""
    return [
        call
        for event in found.events
        if event != "[DONE]"
        for choice in event["choices"]
        for call in choice["delta"].get("tool_calls") or ()
    ]


def chunks(found: Sent) -> list[dict[str, Any]]:
    return [event for event in found.events if event != "[DONE]"]


def test_fragments_may_have_no_index(sent: Send) -> None:
    legal = fragments(sent("chat", stream=True))
    found = fragments(sent("chat", "no_index", stream=True))
    assert all("index" not in call for call in found)
    assert [{"index": old["index"], **new} for old, new in zip(legal, found, strict=True)] == legal


def test_all_calls_may_come_whole_in_one_chunk_without_an_index(sent: Send) -> None:
    found = fragments(sent("chat", "no_index,form=one_chunk", stream=True))
    assert [(call["id"], call["function"]["arguments"]) for call in found] == [
        ("fake0", A),
        ("fake0p1", B),
    ]
    assert all("index" not in call for call in found)


def test_only_the_first_call_may_have_an_index(sent: Send) -> None:
    legal = fragments(sent("chat", stream=True))
    found = fragments(sent("chat", "no_index,form=after_first", stream=True))
    assert ["index" in call for call in found] == [call["index"] == 0 for call in legal]


@pytest.mark.parametrize(("ids", "further"), [("empty", ""), ("repeated", "fake0")])
def test_further_fragments_may_have_an_id_too(sent: Send, ids: str, further: str) -> None:
    found = fragments(sent("chat", f"call_ids,ids={ids}", stream=True))
    first = [call for call in found if call["index"] == 0]
    assert first[0]["id"] == "fake0"
    assert {call["id"] for call in first[1:]} == {further}
    assert "".join(call["function"]["arguments"] for call in first) == A


def test_there_may_be_no_ids_at_all(sent: Send) -> None:
    assert all(
        "id" not in call for call in fragments(sent("chat", "call_ids,ids=missing", stream=True))
    )
    message = sent("chat", "call_ids,ids=missing").json["choices"][0]["message"]
    assert [sorted(call) for call in message["tool_calls"]] == [["function", "type"]] * 2
    assert sent("chat", "call_ids,ids=empty").body == sent("chat").body


def test_id_name_and_arguments_may_come_apart(sent: Send) -> None:
    found = fragments(sent("chat", "call_apart", stream=True))
    assert found[0] == {"index": 0, "id": "fake0", "type": "function"}
    assert found[1] == {"index": 0, "function": {"name": "read_file"}}
    assert all(list(call["function"]) == ["arguments"] for call in found[2:6])


def test_a_second_choice_is_woven_in_with_calls_of_its_own(sent: Send) -> None:
    found = chunks(sent("chat", "two_choices", stream=True))
    choices = [choice for chunk in found for choice in chunk["choices"]]
    assert [choice["index"] for choice in choices] == [0, 1] * (len(choices) // 2)
    texts = ["".join(c["delta"].get("content") or "" for c in choices[n::2]) for n in (0, 1)]
    assert texts == ["Let me look at both of them."] * 2
    ids = [
        call["id"] for call in fragments(sent("chat", "two_choices", stream=True)) if call.get("id")
    ]
    assert ids == ["fake0", "fake0b", "fake0p1", "fake0p1b"]
    assert [choice["finish_reason"] for choice in choices[-2:]] == ["tool_calls"] * 2


@pytest.mark.parametrize(("role", "count"), [("repeated", "all"), ("absent", "none")])
def test_roles_may_be_everywhere_or_nowhere(sent: Send, role: str, count: str) -> None:
    found = chunks(sent("chat", f"role,role={role}", stream=True))
    roles = [chunk["choices"][0]["delta"].get("role") for chunk in found]
    assert set(roles) == ({"assistant"} if count == "all" else {None})


def test_chunks_without_choices_come_first_and_in_the_middle(sent: Send) -> None:
    legal = chunks(sent("chat", stream=True))
    found = chunks(sent("chat", "empty_choices", stream=True))
    assert found[0]["choices"] == []
    assert [one for one in found if one["choices"]] == legal
    assert sum(one["choices"] == [] for one in found) == 2


def test_the_finish_reason_may_be_an_empty_text_until_the_last(sent: Send) -> None:
    found = chunks(sent("chat", "finish_empty", stream=True, script="words"))
    reasons = [chunk["choices"][0]["finish_reason"] for chunk in found]
    assert set(reasons[:-1]) == {""}
    assert reasons[-1] == "stop"


@pytest.mark.parametrize(("value", "expected"), [("empty", []), ("null", None)])
def test_text_may_come_with_tool_calls_that_are_none(sent: Send, value: str, expected: Any) -> None:
    fault = f"tool_calls_empty,value={value}"
    deltas = [
        chunk["choices"][0]["delta"]
        for chunk in chunks(sent("chat", fault, stream=True, script="words"))
    ]
    assert all(delta["tool_calls"] == expected for delta in deltas)
    message = sent("chat", fault, script="words").json["choices"][0]["message"]
    assert message["tool_calls"] == expected
    assert sent("chat", fault).body == sent("chat").body


def test_a_call_may_come_in_the_deprecated_form(sent: Send) -> None:
    found = chunks(sent("chat", "function_call", stream=True))
    calls = [
        chunk["choices"][0]["delta"]["function_call"]
        for chunk in found
        if "function_call" in chunk["choices"][0]["delta"]
    ]
    assert calls[0] == {"name": "read_file", "arguments": ""}
    assert "".join(call["arguments"] for call in calls) == A
    assert found[-1]["choices"][0]["finish_reason"] == "function_call"
    whole = sent("chat", "function_call").json["choices"][0]
    assert whole["message"]["function_call"] == {"name": "read_file", "arguments": A}
    assert "tool_calls" not in whole["message"]
    assert whole["finish_reason"] == "function_call"


PLACES = {"messages": "index", "responses": "output_index"}


def places(found: Sent) -> list[int]:
    """Which call, block or item each event belongs to."""
    if found.dialect == "chat":
        return [call["index"] for call in fragments(found)]
    name = PLACES[found.dialect]
    return [event[name] for event in found.events if name in event]


def parts(found: Sent) -> dict[int, list[Any]]:
    """The events of each call, block or item, in order; numbers of events left out."""
    by_place: dict[int, list[Any]] = {}
    if found.dialect == "chat":
        for call in fragments(found):
            by_place.setdefault(call["index"], []).append(call)
        return by_place
    for event in found.events:
        if PLACES[found.dialect] in event:
            kept = {key: value for key, value in event.items() if key != "sequence_number"}
            by_place.setdefault(event[PLACES[found.dialect]], []).append(kept)
    return by_place


@pytest.mark.parametrize("dialect", ["chat", "messages", "responses"])
def test_fragments_of_parallel_calls_are_woven_and_each_keeps_its_order(
    sent: Send, dialect: str
) -> None:
    legal, found = sent(dialect, stream=True), sent(dialect, "interleaved", stream=True)
    assert parts(found) == parts(legal)
    assert places(legal) == sorted(places(legal))
    assert places(found) != sorted(places(found))
    assert sorted(map(str, found.kinds)) == sorted(map(str, legal.kinds))
    if dialect == "responses":
        assert [event["sequence_number"] for event in found.events] == list(
            range(len(found.events))
        )


@pytest.mark.parametrize("dialect", ["chat", "messages", "responses"])
def test_all_numbers_may_be_zero(sent: Send, dialect: str) -> None:
    legal, found = sent(dialect, stream=True), sent(dialect, "index_collides", stream=True)
    assert set(places(found)) == {0}
    assert len(places(found)) == len(places(legal))
    assert max(places(legal)) > 0


def test_a_delta_may_come_before_the_start_of_the_message(sent: Send) -> None:
    found = sent("messages", "delta_before_start", stream=True)
    assert found.kinds[:2] == ["content_block_delta", "message_start"]
    assert sorted(found.kinds) == sorted(sent("messages", stream=True).kinds)


def test_a_message_may_start_twice(sent: Send) -> None:
    legal, found = (
        sent("messages", stream=True).kinds,
        sent("messages", "second_start", stream=True).kinds,
    )
    at = found.index("message_start", 1)
    assert [*found[:at], *found[at + 1 :]] == legal
    assert 0 < at < len(legal)


def test_the_input_may_stand_in_the_start_of_the_block(sent: Send) -> None:
    found = sent("messages", "input_in_start", stream=True)
    blocks = [
        event["content_block"] for event in found.events if event["type"] == "content_block_start"
    ]
    assert [block.get("input") for block in blocks] == [None, {"path": "a.txt"}, {"path": "b.txt"}]
    assert b"input_json_delta" not in found.body


def test_the_input_of_all_calls_may_be_said_in_one_block(sent: Send) -> None:
    found = sent("messages", "one_block", stream=True)
    said: dict[int, str] = {}
    for event in found.events:
        if "partial_json" in event.get("delta", {}):
            said[event["index"]] = said.get(event["index"], "") + event["delta"]["partial_json"]
    assert said == {1: A + B}
    starts = [event["index"] for event in found.events if event["type"] == "content_block_start"]
    stops = [event["index"] for event in found.events if event["type"] == "content_block_stop"]
    assert starts == stops == [0, 1]


@pytest.mark.parametrize("name", ["no_index", "interleaved", "index_collides"])
def test_a_reply_without_calls_is_left_alone(sent: Send, name: str) -> None:
    found = sent("chat", name, stream=True, script="words")
    assert found.body == sent("chat", stream=True, script="words").body
    assert found.notes[-1] == "fault_missed"
