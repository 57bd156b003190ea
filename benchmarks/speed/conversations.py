"""Request bodies of runaway conversations of any length."""

from __future__ import annotations

import json
from typing import Any

SYSTEM = (
    "You answer questions about the files in one directory. Use the tools; do not guess file names."
)
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


def body(turns: int, name: str = "") -> bytes:
    """The request for turn `turns` + 1; conversations of other names share no message."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": f"{name} Which file mentions a timeout?"},
    ]
    for turn in range(turns):
        messages += _turn(turn, name)
    request = {"messages": messages, "model": "runaway", "tools": TOOLS}
    return json.dumps(request, separators=(",", ":"), ensure_ascii=False).encode()


def _turn(turn: int, name: str) -> list[dict[str, Any]]:
    call = {
        "id": f"fake{turn}",
        "type": "function",
        "function": {"name": "list_files", "arguments": "{}"},
    }
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"fake{turn}", "content": f"{name}{RESULT}"},
    ]
