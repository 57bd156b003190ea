"""The test kit: how many examples of a property a second, in process and over a socket."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx

from fakeprovider.replies import ask
from fakeprovider.scripts.reply_sequence import Replies
from fakeprovider.testing import FakeProvider, Run

SCRIPT = Replies(ask("list_files"), ask("list_files"), "Done.")
TOOL = {"type": "function", "function": {"name": "list_files", "parameters": {"type": "object"}}}


@dataclass(frozen=True)
class KitSpeed:
    """Examples a second: each a run of its own, three requests of a bare loop, and its checks."""

    way: str
    examples: int
    rate: float


def measure(examples: int = 500) -> list[KitSpeed]:
    """Both ways, one after the other."""
    with FakeProvider() as provider:
        return [
            KitSpeed(way, examples, _rate(provider, examples, in_process))
            for way, in_process in (("in process", True), ("over a socket", False))
        ]


def _rate(provider: FakeProvider, examples: int, in_process: bool) -> float:
    example = _in_process if in_process else _over_a_socket()
    _play(provider, example, in_process, examples // 10)  # warm
    started = time.perf_counter()
    _play(provider, example, in_process, examples)
    return examples / (time.perf_counter() - started)


def _play(
    provider: FakeProvider, example: Callable[[Run], None], in_process: bool, count: int
) -> None:
    for _ in range(count):
        with provider.run(SCRIPT, in_process=in_process) as run:
            example(run)


def _in_process(run: Run) -> None:
    # Without TLS: a client that reads the certificates spends more on that than on the example.
    with httpx.Client(transport=run.transport, verify=False) as client:
        _loop(client, run.base_url)


def _over_a_socket() -> Callable[[Run], None]:
    client = httpx.Client()
    return lambda run: _loop(client, run.base_url)


def _loop(client: httpx.Client, base_url: str) -> None:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Which file?"}]
    calls: list[dict[str, Any]] = [{}]
    while calls:
        body = {"model": "m", "messages": messages, "tools": [TOOL]}
        choice = client.post(f"{base_url}/chat/completions", json=body).json()["choices"][0]
        messages.append(choice["message"])
        calls = choice["message"].get("tool_calls") or []
        messages += [{"role": "tool", "tool_call_id": c["id"], "content": "a"} for c in calls]
