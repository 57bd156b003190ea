"""Answers of chat completions endpoints as they are written down."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fakeprovider.protocols.answers import NotAnAnswer
from fakeprovider.protocols.dialect import read_answer


def answer(**message: Any) -> bytes:
    choice = {"message": {"role": "assistant", **message}, "finish_reason": "stop"}
    return json.dumps({"choices": [choice]}).encode()


def chunks(*choices: dict[str, Any]) -> bytes:
    return b"".join(b"data: %s\n\n" % json.dumps({"choices": [one]}).encode() for one in choices)


def test_of_several_streamed_choices_the_first_is_written_down() -> None:
    stream = chunks(
        {"index": 0, "delta": {"content": "Yes"}},
        {"index": 1, "delta": {"content": "No"}},
        {"index": 0, "delta": {}, "finish_reason": "stop"},
        {"index": 1, "delta": {}, "finish_reason": "length"},
    )
    assert read_answer(stream, streamed=True) == {"say": "Yes"}


def test_a_call_of_the_old_kind_is_a_call() -> None:
    asked = {"ask": [{"tool": "look", "arguments": {"x": 1}}]}
    old = {"name": "look", "arguments": '{"x":1}'}
    assert read_answer(answer(content=None, function_call=old), streamed=False) == asked
    stream = chunks(
        {"index": 0, "delta": {"function_call": {"name": "look", "arguments": '{"x":'}}},
        {"index": 0, "delta": {"function_call": {"arguments": "1}"}}},
        {"index": 0, "delta": {}, "finish_reason": "function_call"},
    )
    assert read_answer(stream, streamed=True) == asked


@pytest.mark.parametrize("streamed", [False, True])
def test_a_call_of_a_tool_without_a_schema_is_told(streamed: bool) -> None:
    custom = {"type": "custom", "id": "c1", "custom": {"name": "shell", "input": "ls"}}
    stream = chunks({"index": 0, "delta": {"tool_calls": [custom]}, "finish_reason": "tool_calls"})
    with pytest.raises(NotAnAnswer):
        read_answer(stream if streamed else answer(tool_calls=[custom]), streamed=streamed)


def test_an_answer_nested_too_deeply_is_told() -> None:
    with pytest.raises(NotAnAnswer, match="RecursionError"):
        read_answer(b"[" * 100_000 + b"]" * 100_000, streamed=False)


@pytest.mark.parametrize(
    "stream",
    [b"", b'data: {"choices":[{"delta":{"content":"half"}}]}\n\n', b"data: nonsense\n\n"],
)
def test_a_broken_stream_is_no_answer(stream: bytes) -> None:
    with pytest.raises(NotAnAnswer):
        read_answer(stream, streamed=True)
