"""Responses: its items, its turns, and what a previous response's id carries."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fakeprovider.completion import complete
from fakeprovider.conversation import Conversation
from fakeprovider.errors import ApiError
from fakeprovider.parsing.caches import RequestCaches
from fakeprovider.protocols.responses.dialect import RESPONSES
from fakeprovider.replies import Reply, Text, Thinking, ask, call, say


def mixed(conversation: Conversation) -> Reply:
    """Words and parallel calls, for ever."""
    return say("Let me look.", call("list_files"), call("read_file", {"path": "é"}))


def respond(items: Any, **rest: Any) -> Conversation:
    return RESPONSES.parse(
        json.dumps({"model": "m", "input": items, **rest}).encode(), RequestCaches()
    )


def test_a_string_as_input_is_a_message_of_the_user() -> None:
    assert respond("hi").messages == respond([{"role": "user", "content": "hi"}]).messages
    assert respond("hi").prompt_tokens == respond([{"role": "user", "content": "hi"}]).prompt_tokens


def test_items_without_type_or_id_and_unknown_ones_are_taken() -> None:
    found = respond(
        [
            {"role": "user", "content": [{"type": "input_text", "text": "a"}]},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
            {"type": "message", "role": "assistant", "content": "b", "id": "msg_1"},
            {"type": "brand_new", "x": 1},
            {"role": "user", "content": "c"},
        ]
    )
    assert [one.text for one in found.messages] == ["a", "b", "c"]
    assert found.turn == 1


def test_neighbouring_output_items_are_one_turn() -> None:
    """Two parallel calls, reasoning and words are five items and one turn."""
    group = [
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "message", "role": "assistant", "content": "a"},
        {"type": "function_call", "call_id": "x", "name": "f", "arguments": "{}"},
        {"type": "function_call", "call_id": "y", "name": "f", "arguments": "{}"},
        {"type": "message", "role": "assistant", "content": "b"},
    ]
    outputs = [
        {
            "type": "function_call_output",
            "call_id": one,
            "output": [{"type": "input_text", "text": one}],
        }
        for one in "xy"
    ]
    found = respond([{"role": "user", "content": "go"}, *group, *outputs])
    assert found.turn == 1
    assert found.messages[1].text == "ab"
    assert [one.text for one in found.results] == ["x", "y"]


def test_a_conversation_that_grows_inside_a_group_is_read_as_from_the_start() -> None:
    """What was remembered of a prefix may not close a turn that goes on."""
    caches = RequestCaches()
    padding = {"role": "user", "content": "x" * 5000}
    part = {"role": "assistant", "content": "a"}
    for items in ([padding, part], [padding, part, part], [padding, part, part, padding]):
        body = json.dumps({"model": "m", "input": items}).encode()
        found = RESPONSES.parse(body, caches)
        fresh = RESPONSES.parse(body, RequestCaches())
        assert found == fresh
        assert found.turn == 1


def test_custom_tools_take_their_input_as_it_is() -> None:
    found = respond(
        [
            {"role": "user", "content": "go"},
            {"type": "custom_tool_call", "call_id": "c", "name": "f", "input": "not json"},
            {"type": "custom_tool_call_output", "call_id": "c", "output": "done"},
        ],
        tools=[{"type": "custom", "name": "f"}, {"type": "web_search"}],
    )
    assert found.last_result is not None
    assert found.last_result.text == "done"
    assert [tool.name for tool in found.tools] == ["f"]
    assert not found.notes


def test_an_item_reference_is_followed_by_what_its_id_carries() -> None:
    """Clients that trust the server's store send ids in place of items; nothing is stored here."""
    start = {"role": "user", "content": "go"}
    first = respond([start])
    done = complete(first, say("Let me look.", call("list_files", {"a": 1})))
    whole = json.loads(RESPONSES.render_whole(first, done))
    output = {"type": "function_call_output", "call_id": "fake0", "output": "r"}
    by_id = [{"type": "item_reference", "id": one["id"]} for one in whole["output"]]
    assert respond([start, *by_id, output]).messages == (
        respond([start, *whole["output"], output]).messages
    )
    with pytest.raises(ApiError, match="not found"):
        respond([start, {"type": "item_reference", "id": "msg_unknown"}])


# previous_response_id: the history is not in the request.


def follow(
    previous: tuple[Conversation, dict[str, Any]], items: list[Any], **rest: Any
) -> Conversation:
    return respond(items, previous_response_id=previous[1]["id"], **rest)


def answered(found: Conversation, reply: Reply, script: str = "s") -> tuple[Any, dict[str, Any]]:
    done = complete(found, reply, script)
    return found, json.loads(RESPONSES.render_whole(found, done))


def test_a_previous_response_id_carries_script_turn_calls_and_tokens() -> None:
    start = {"role": "user", "content": "go"}
    output = {"type": "function_call_output", "call_id": "fake0", "output": "r"}
    first = answered(respond([start], instructions="i"), ask("list_files"))
    found = follow(first, [output], instructions="i")
    whole = respond([start, *first[1]["output"], output], instructions="i")
    assert found.turn == whole.turn == 1
    assert found.prompt_tokens == whole.prompt_tokens
    assert found.results == whole.results
    assert found.last_result is not None
    assert found.last_result.tool == "list_files"
    assert found.since_last_user == whole.since_last_user == 1
    assert found.options["script"] == "s"
    assert not found.violations


def test_the_chain_goes_on_over_many_responses() -> None:
    items: list[Any] = [{"role": "user", "content": "go"}]
    new = items
    previous = None
    for number in range(6):
        whole = respond(items)
        found = respond(new) if previous is None else follow(previous, new)
        assert found.prompt_tokens == whole.prompt_tokens
        assert found.turn == whole.turn == number
        previous = answered(found, mixed(found))
        new = [
            {"type": "function_call_output", "call_id": one["call_id"], "output": "r"}
            for one in previous[1]["output"]
            if one["type"] == "function_call"
        ]
        items = [*items, *previous[1]["output"], *new]


def test_after_a_previous_response_its_calls_must_be_answered_and_not_repeated() -> None:
    first = answered(respond("go"), ask("list_files"))
    rules = [one.rule for one in follow(first, [{"role": "user", "content": "x"}]).violations]
    assert rules == ["unanswered_call"]
    with pytest.raises(ApiError, match="Duplicate item"):
        follow(first, first[1]["output"])


def test_a_script_that_needs_earlier_text_gets_a_clear_error() -> None:
    found = follow(answered(respond("go"), say("a")), [{"role": "user", "content": "b"}])
    with pytest.raises(ApiError, match="keeps nothing between requests") as raised:
        _ = found.user_messages
    assert raised.value.status == 400
    assert raised.value.retry is False
    assert found.seen("b")
    with pytest.raises(ApiError):
        found.seen("go")


@pytest.mark.parametrize("previous", ["resp_fake0", "resp_AAAA", "x", "resp_é", ""])
def test_an_id_that_was_not_made_here_or_not_stored_is_not_found(previous: str) -> None:
    with pytest.raises(ApiError) as raised:
        respond("x", previous_response_id=previous)
    assert raised.value.code == "previous_response_not_found"
    unstored = answered(respond("go", store=False), say("a"))
    assert unstored[1]["id"] == "resp_fake0"


def test_a_conversation_object_and_background_are_refused_plainly() -> None:
    with pytest.raises(ApiError, match="not kept here"):
        respond("x", conversation="conv_1")
    with pytest.raises(ApiError, match="background"):
        respond("x", background=True)


def test_store_false_keeps_item_ids_short_and_encrypted_reasoning_is_given_if_asked() -> None:
    asked = respond("x", store=False, include=["reasoning.encrypted_content"])
    whole = answered(asked, Reply((Thinking("hm"), Text("a"))))[1]
    assert [item["id"] for item in whole["output"]] == ["rs_fake0i0", "msg_fake0i1"]
    assert whole["output"][0]["encrypted_content"]
    assert whole["usage"]["output_tokens_details"]["reasoning_tokens"] > 0
