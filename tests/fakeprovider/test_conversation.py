"""What a script sees of a request: turns, results, tools."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fakeprovider.conversation import Conversation, Result
from fakeprovider.parsing.caches import RequestCaches
from fakeprovider.protocols.chat.dialect import CHAT

USER = {"role": "user", "content": "go"}


def asked(*ids: str, said: str | None = None, tool: str = "f") -> dict[str, Any]:
    calls = [{"id": one, "function": {"name": tool, "arguments": "{}"}} for one in ids]
    return {"role": "assistant", "content": said, "tool_calls": calls}


def said(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def result(call_id: str, text: str = "ok") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def read(*messages: dict[str, Any], **rest: Any) -> Conversation:
    body = json.dumps({"model": "m", "messages": messages, **rest}).encode()
    return CHAT.parse(body, RequestCaches())


TURNS: list[tuple[list[dict[str, Any]], int]] = [
    ([USER], 0),
    ([USER, said("a")], 1),
    ([USER, said("a"), USER, said("b")], 2),
    ([USER, asked("fake0"), result("fake0")], 1),
    ([USER, asked("fake6"), result("fake6")], 7),
    ([USER, asked("fake2p1"), result("fake2p1")], 3),
    ([USER, asked("call_9"), result("call_9")], 1),
    ([USER, asked("fake007"), result("fake007")], 1),
    ([USER, asked("fake12x"), result("fake12x")], 1),
    ([USER, asked("fake9", "fake9p1"), result("fake9"), result("fake9p1"), said("x")], 10),
    ([USER, *[said("x")] * 12, asked("fake3"), result("fake3")], 13),
]


@pytest.mark.parametrize(("messages", "turn"), TURNS)
def test_the_turn_follows_from_the_conversation(messages: list[dict[str, Any]], turn: int) -> None:
    """The number of assistant turns, or one more than the highest own call id."""
    found = read(*messages)
    assert (found.turn, found.position) == (turn, turn)


def test_results_are_those_of_the_last_turn() -> None:
    """With the tool's name, in their order, and gone once the user has spoken."""
    history = [USER, asked("a"), result("a", "old"), asked("b", "c", tool="g")]
    answered = [*history, result("c", "1"), result("b", "2")]
    assert read(*answered).results == (Result("g", "1", "c"), Result("g", "2", "b"))
    assert read(*answered).last_result == Result("g", "2", "b")
    assert read(*answered, USER).results == ()
    assert read(USER).last_result is None


def test_who_said_what() -> None:
    """User messages, system text with developer's, and text seen anywhere."""
    found = read(
        {"role": "system", "content": "be"},
        {"role": "developer", "content": [{"type": "text", "text": "kind"}]},
        USER,
        asked("a", said="hm"),
        result("a", "found it"),
        {"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]},
        said("done"),
    )
    assert found.user_messages == ("go", "x\ny")
    assert found.system_text == "be\nkind"
    assert found.since_last_user == 1
    assert found.seen("found it")
    assert not found.seen("nowhere")


def test_tools_and_caps() -> None:
    """What is offered, and the smaller word for the cap on output."""
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    found = read(USER, tools=tools, max_tokens=5, max_completion_tokens=7, stream=True)
    assert found.offers("f")
    assert not found.offers("g")
    assert found.tools[0].parameters == {"type": "object"}
    assert (found.max_output, found.stream, found.model) == (7, True, "m")


@pytest.mark.parametrize("content", [{}, {"content": None}, {"content": ""}, {"content": []}])
def test_a_turn_with_calls_counts_alike_however_its_content_is_left_out(
    content: dict[str, Any],
) -> None:
    """Null, missing, empty or no parts."""
    turn = {key: value for key, value in asked("a").items() if key != "content"}
    found = read(USER, {**turn, **content}, result("a"))
    assert found.prompt_tokens == read(USER, asked("a"), result("a")).prompt_tokens
    assert found.violations == ()


def test_what_clients_echo_is_ignored() -> None:
    """Keys of SDK objects, with nulls and all."""
    echoed = {
        **asked("a"),
        "refusal": None,
        "annotations": [],
        "audio": None,
        "function_call": None,
        "parsed": None,
        "name": "bot",
    }
    echoed["tool_calls"][0] |= {"index": 0, "type": "function"}
    echoed["tool_calls"][0]["function"]["parsed_arguments"] = {}
    found = read(USER, echoed, result("a") | {"name": "f"}, seed=1, metadata={"a": 1})
    assert found.prompt_tokens == read(USER, asked("a"), result("a")).prompt_tokens
