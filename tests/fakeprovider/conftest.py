"""What the provider's tests share: the classic task, and a client that runs tools by the book."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

SYSTEM = (
    "You answer questions about the files in one directory. Use the tools; do not guess file names."
)
TASK = "Which file mentions a timeout?"
FILES = {
    "access.log": "GET / 200",
    "errors.log": "ERROR timeout: worker 7 timed out after 30000 ms\n",
    "notes.txt": "Remember to rotate the logs.",
}
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
PATH: dict[str, Any] = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "required": ["path"],
}
DESCRIPTIONS = {
    "list_files": ("List the files in the working directory.", NOTHING),
    "read_file": ("Read one file and return its contents.", PATH),
    "delete_file": ("Delete one file. This cannot be undone.", PATH),
    "scan_archive": (
        "Scan every file in the archive for errors. This takes a few seconds to finish.",
        NOTHING,
    ),
}
TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": parameters},
    }
    for name, (description, parameters) in DESCRIPTIONS.items()
]


def tool(name: str, arguments: str) -> str:
    """What the workspace's tools answer."""
    path = json.loads(arguments).get("path", "")
    if name == "list_files":
        return json.dumps(list(FILES), separators=(",", ":"))
    if path.startswith("/"):
        return f"Error: permission denied: {path}"
    if name == "read_file" and path not in FILES:
        return f"Error: no such file: {path}. Call list_files to see what exists."
    return FILES[path] if name == "read_file" else f"Deleted {path}."


def opening() -> list[dict[str, Any]]:
    """The messages of a first request."""
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": TASK}]


@dataclass
class Ran:
    """What a run came to: tokens per turn, calls, the last text, the reason of each turn."""

    prompts: list[int] = field(default_factory=list)
    completions: list[int] = field(default_factory=list)
    called: list[str] = field(default_factory=list)
    finishes: list[str] = field(default_factory=list)
    answer: str | None = None


def events(text: str) -> Iterator[dict[str, Any]]:
    """The JSON of each server-sent event; the last must be [DONE]."""
    lines = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
    assert lines.pop() == "[DONE]"
    return map(json.loads, lines)


def assemble(chunks: Iterator[dict[str, Any]]) -> dict[str, Any]:
    """The whole reply that a chat stream adds up to, as the API reference says to add."""
    message: dict[str, Any] = {}
    found: dict[str, Any] = {}
    calls: list[dict[str, Any]] = []
    reason = None
    for chunk in chunks:
        found = {**found, **chunk, "usage": chunk.get("usage")}
        for choice in chunk["choices"]:
            reason = choice["finish_reason"] or reason
            delta = dict(choice["delta"])
            for part in delta.pop("tool_calls", ()):
                _add_call(calls, part)
            for key, value in delta.items():
                before = message.get(key)
                message[key] = before + value if before and value else value or before
                if value == "" and before is None:
                    message[key] = ""
    if calls:
        message["tool_calls"] = calls
    return {**found, "choices": [{"index": 0, "message": message, "finish_reason": reason}]}


def _add_call(calls: list[dict[str, Any]], part: dict[str, Any]) -> None:
    if part["index"] == len(calls):
        calls.append({key: part[key] for key in ("id", "type", "function")})
    else:
        calls[part["index"]]["function"]["arguments"] += part["function"]["arguments"]


@pytest.fixture(scope="session")
def http() -> Iterator[httpx.Client]:
    """A plain client."""
    with httpx.Client(timeout=30) as client:
        yield client


@pytest.fixture(scope="session")
def play(http: httpx.Client) -> Callable[..., Ran]:
    """Runs a script to its end, or for so many turns, by hand over the wire."""

    def run(
        base_url: str, *, turns: int = 100, stream: bool = False, answer: Callable[..., str] = tool
    ) -> Ran:
        ran, messages = Ran(), opening()
        for _ in range(turns):
            reply = ask(http, base_url, messages, stream)
            choice, usage = reply["choices"][0], reply["usage"]
            ran.prompts.append(usage["prompt_tokens"])
            ran.completions.append(usage["completion_tokens"])
            ran.finishes.append(choice["finish_reason"])
            ran.answer = choice["message"]["content"]
            messages.append(choice["message"])
            for call in choice["message"].get("tool_calls", ()):
                function = call["function"]
                ran.called.append(function["name"])
                text = answer(function["name"], function["arguments"])
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})
            if messages[-1]["role"] != "tool":
                break
        return ran

    return run


def ask(
    http: httpx.Client, base_url: str, messages: list[dict[str, Any]], stream: bool = False
) -> dict[str, Any]:
    """One request; the whole reply, however it came."""
    body: dict[str, Any] = {"model": "m", "messages": messages, "tools": TOOLS}
    if stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    reply = http.post(f"{base_url}/chat/completions", json=body)
    assert reply.status_code == 200, reply.text
    found: dict[str, Any] = assemble(events(reply.text)) if stream else reply.json()
    return found


@pytest.fixture(scope="session")
def workspace() -> Any:
    """The classic task: `opening()`, `TOOLS`, `tool(name, arguments)`."""
    return sys.modules[__name__]
