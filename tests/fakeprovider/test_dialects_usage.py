"""One conversation costs the same and means the same in three dialects."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakeprovider.completion import complete
from fakeprovider.conversation import Conversation
from fakeprovider.parsing.caches import RequestCaches
from fakeprovider.protocols.chat.dialect import CHAT
from fakeprovider.protocols.dialect import Dialect
from fakeprovider.protocols.messages.dialect import MESSAGES
from fakeprovider.protocols.responses.dialect import RESPONSES
from fakeprovider.replies import Reply, Text, ToolCall, call, say
from fakeprovider.scripts.steady import plan
from fakeprovider.scripts.stuck import runaway


class Turn(NamedTuple):
    """What the user said, what the model answered, and what its tools did."""

    user: str
    reply: tuple[str, tuple[ToolCall, ...]]
    results: tuple[str, ...]


SYSTEM = "You answer questions."
TOOLS: list[dict[str, Any]] = [
    {"name": "list_files", "description": "List.", "parameters": {"type": "object"}},
    {"name": "read_file", "description": "Read.", "parameters": {"type": "object"}},
]


def chat_body(turns: list[Turn]) -> dict[str, Any]:
    wire: list[Any] = [{"role": "system", "content": SYSTEM}]
    for number, turn in enumerate(turns):
        wire += [{"role": "user", "content": turn.user}] if turn.user else []
        text, calls = turn.reply
        if not text and not calls:
            continue
        ids = [_id(number, index) for index in range(len(calls))]
        told = {"role": "assistant", "content": text or None}
        if calls:
            told["tool_calls"] = [
                {
                    "id": one,
                    "type": "function",
                    "function": {"name": c.name, "arguments": c.arguments},
                }
                for one, c in zip(ids, calls, strict=True)
            ]
        wire.append(told)
        wire += [
            {"role": "tool", "tool_call_id": one, "content": result}
            for one, result in zip(ids, turn.results, strict=False)
        ]
    tools = [{"type": "function", "function": tool} for tool in TOOLS]
    return {"model": "m", "messages": wire, "tools": tools}


def messages_body(turns: list[Turn]) -> dict[str, Any]:
    wire: list[Any] = []
    for number, turn in enumerate(turns):
        wire += [{"role": "user", "content": turn.user}] if turn.user else []
        text, calls = turn.reply
        if not text and not calls:
            continue
        ids = [_id(number, index) for index in range(len(calls))]
        content: list[Any] = [{"type": "text", "text": text}] if text else []
        content += [
            {"type": "tool_use", "id": one, "name": c.name, "input": json.loads(c.arguments)}
            for one, c in zip(ids, calls, strict=True)
        ]
        wire.append({"role": "assistant", "content": content})
        results = [
            {"type": "tool_result", "tool_use_id": one, "content": result}
            for one, result in zip(ids, turn.results, strict=False)
        ]
        wire += [{"role": "user", "content": results}] if results else []
    tools = [
        {"name": t["name"], "description": t["description"], "input_schema": t["parameters"]}
        for t in TOOLS
    ]
    return {"model": "m", "max_tokens": 999, "system": SYSTEM, "messages": wire, "tools": tools}


def responses_body(turns: list[Turn]) -> dict[str, Any]:
    wire: list[Any] = []
    for number, turn in enumerate(turns):
        wire += [{"role": "user", "content": turn.user}] if turn.user else []
        text, calls = turn.reply
        ids = [_id(number, index) for index in range(len(calls))]
        wire += (
            [{"role": "assistant", "content": [{"type": "output_text", "text": text}]}]
            if text
            else []
        )
        wire += [
            {"type": "function_call", "call_id": one, "name": c.name, "arguments": c.arguments}
            for one, c in zip(ids, calls, strict=True)
        ]
        wire += [
            {"type": "function_call_output", "call_id": one, "output": result}
            for one, result in zip(ids, turn.results, strict=False)
        ]
    tools = [{"type": "function", **tool} for tool in TOOLS]
    return {"model": "m", "instructions": SYSTEM, "input": wire, "tools": tools}


def _id(turn: int, index: int) -> str:
    return f"fake{turn}p{index}" if index else f"fake{turn}"


BODIES = {CHAT: chat_body, MESSAGES: messages_body, RESPONSES: responses_body}
DIALECTS: list[Dialect] = list(BODIES)


def parse(dialect: Dialect, turns: list[Turn], caches: RequestCaches | None = None) -> Conversation:
    body = json.dumps(BODIES[dialect](turns)).encode()
    return dialect.parse(body, caches or RequestCaches())


text = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30)
values = st.dictionaries(text, st.integers() | text | st.booleans(), max_size=2)
calls = st.builds(call, st.sampled_from(["list_files", "read_file", "gone"]), values)


@st.composite
def turn(draw: st.DrawFn) -> Turn:
    asked = tuple(draw(st.lists(calls, max_size=3)))
    words = draw(text if not asked else text | st.just(""))
    return Turn(draw(text), (words, asked), tuple(draw(text) for _ in asked))


@settings(max_examples=100, deadline=None)
@given(turns=st.lists(turn(), min_size=1, max_size=4), last=text)
def test_a_conversation_has_the_same_tokens_turn_results_and_words_in_each_dialect(
    turns: list[Turn], last: str
) -> None:
    transcript = [*turns, Turn(last, ("", ()), ())]
    found = [parse(dialect, transcript) for dialect in DIALECTS]
    first = found[0]
    assert first.messages == found[1].messages == found[2].messages
    assert first.prompt_tokens == found[1].prompt_tokens == found[2].prompt_tokens
    for other in found[1:]:
        assert other.turn == first.turn == len(turns)
        assert other.results == first.results
        assert other.user_messages == first.user_messages
        assert other.tools == first.tools
    assert all(not one.violations for one in found)


def play(dialect: Dialect, script: Any, rounds: int) -> list[tuple[int, int, tuple[str, ...], str]]:
    """What a client sees turn by turn, every request answered by the script."""
    turns: list[Turn] = []
    seen = []
    caches = RequestCaches()
    for number in range(rounds):
        user = "go" if number == 0 else ""
        found = parse(dialect, [*turns, Turn(user, ("", ()), ())], caches)
        done = complete(found, script(found))
        seen.append(
            (found.prompt_tokens, done.usage.completion, tuple(c.id for c in done.calls), done.text)
        )
        asked = tuple(ToolCall(one.name, one.arguments) for one in done.calls)
        turns.append(Turn(user, (done.text, asked), tuple("result" for _ in asked)))
    return seen


def mixed(conversation: Conversation) -> Reply:
    """Words and parallel calls, for ever."""
    return say("Let me look.", call("list_files"), call("read_file", {"path": "é"}))


def worded(conversation: Conversation) -> Reply:
    """Words before, between and after a call."""
    return Reply((Text("a"), ToolCall("list_files"), Text("b"), Text("c")))


@pytest.mark.parametrize(("script", "rounds"), [(plan, 3), (runaway, 12), (mixed, 5), (worded, 4)])
def test_usage_grows_alike_in_three_dialects(script: Any, rounds: int) -> None:
    """Turns, calls, ids and tokens of a run do not depend on the dialect."""
    runs = [play(dialect, script, rounds) for dialect in DIALECTS]
    assert runs[0] == runs[1] == runs[2]
    assert [prompt for prompt, *_ in runs[0]] == sorted({prompt for prompt, *_ in runs[0]})
