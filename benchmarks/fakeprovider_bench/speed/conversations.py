"""Requests of runaway conversations of any length, as they go over the wire."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count, repeat
from typing import Any

from fakeprovider_bench.speed.load import request_bytes
from fakeprovider_scenarios import find

PATH = "/v1/chat/completions"
RESULT = '["access.log","errors.log","notes.txt"]'
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "list_files",
            "description": "List the files in the working directory.",
            "parameters": {"type": "object", "properties": {}},
        },
    },
    {
        "type": "function",
        "function": {
            "name": "read_file",
            "description": "Read one file and return its contents.",
            "parameters": {
                "type": "object",
                "properties": {"path": {"type": "string"}},
                "required": ["path"],
            },
        },
    },
]
_RUNAWAY = find("runaway")


def body(turn: int, name: str = "") -> bytes:
    """The request of a turn, counting from 1; the messages of another name are other messages."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": _RUNAWAY.system},
        {"role": "user", "content": f"{name}{_RUNAWAY.task}"},
    ]
    for index in range(turn - 1):
        messages += _exchange(index, name)
    request = {"messages": messages, "model": "runaway", "tools": TOOLS}
    return json.dumps(request, separators=(",", ":"), ensure_ascii=False).encode()


def same(turn: int) -> Iterator[bytes]:
    """One request for ever: what identical runs, and retries, send."""
    return repeat(request_bytes(PATH, body(turn)))


def following(turn: int, conversations: int, steps: int) -> tuple[list[bytes], list[bytes]]:
    """First requests of some conversations, then each one's next turns up to `turn`, in rounds."""
    names = [f"conversation {number}: " for number in range(conversations)]
    rounds = [
        [request_bytes(PATH, body(at, name)) for name in names]
        for at in range(turn - steps, turn + 1)
    ]
    return rounds[0], [request for requests in rounds[1:] for request in requests]


def unseen(turn: int) -> Iterator[bytes]:
    """Requests of conversations that share no message, for ever."""
    return (request_bytes(PATH, body(turn, f"unseen {number}: ")) for number in count())


def _exchange(index: int, name: str) -> list[dict[str, Any]]:
    call = {
        "id": f"fake{index}",
        "type": "function",
        "function": {"name": "list_files", "arguments": "{}"},
    }
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"fake{index}", "content": f"{name}{RESULT}"},
    ]
