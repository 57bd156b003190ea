"""A small harness, good or bad, that talks to a real provider; and what the journal saw of it."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

from fakeprovider.journal import Exchange
from fakeprovider.scripts import Script
from fakeprovider.server import Server
from fakeprovider.verdict import ClauseResult, Facts, verdict

Message = dict[str, Any]
Tool = Callable[[str, str], str]

NAMES = ("list_files", "read_file", "delete_file", "status", "test", "edit", "write")
TOOLS = [{"type": "function", "function": {"name": name}} for name in NAMES]


@dataclass
class Harness:
    """An agent loop of the naive kind, with places to go wrong in.

    `tool` answers a call (name, arguments); `cap` is on model calls; `retries` are made of a
    failed request, `wait` seconds apart (None: as long as Retry-After says). `history` may change
    the messages before they are sent.
    """

    tool: Tool = lambda name, arguments: f"{name} is done"
    cap: int = 100
    retries: int = 0
    wait: float | None = 0.15
    history: Callable[[list[Message]], list[Message]] = lambda messages: messages
    counts: Callable[[int], int | None] = lambda attempt: None
    answer_is_an_end: bool = True
    stop_at_errors: bool = True
    ledger: list[dict[str, str]] = field(default_factory=list)

    def run(self, http: httpx.Client, base_url: str, task: str = "go") -> list[Message]:
        messages: list[Message] = [{"role": "user", "content": task}]
        for _ in range(self.cap):
            reply = self.ask(http, base_url, self.history(messages))
            if reply is None:
                if self.stop_at_errors:
                    break
                continue
            messages.append(reply)
            for call in reply.get("tool_calls") or ():
                messages.append(self.result(call))
            if self.answer_is_an_end and not reply.get("tool_calls"):
                break
        return messages

    def result(self, call: dict[str, Any]) -> Message:
        function = call["function"]
        text = self.tool(function["name"], function["arguments"])
        return {"role": "tool", "tool_call_id": call["id"], "content": text}

    def answer(self, http: httpx.Client, base_url: str, messages: list[Message]) -> Message:
        """A reply that is there."""
        reply = self.ask(http, base_url, messages)
        assert reply is not None
        return reply

    def ask(self, http: httpx.Client, base_url: str, messages: list[Message]) -> Message | None:
        body = {"model": "m", "messages": messages, "tools": TOOLS}
        for attempt in range(self.retries + 1):
            count = self.counts(attempt)
            headers = {} if count is None else {"x-stainless-retry-count": str(count)}
            reply = http.post(f"{base_url}/chat/completions", json=body, headers=headers)
            if reply.status_code == 200:
                message: Message = reply.json()["choices"][0]["message"]
                return message
            retry_after = float(reply.headers.get("retry-after", "0"))
            time.sleep(retry_after if self.wait is None else self.wait)
        return None


class Bench:
    """A server on which each harness has a run of its own."""

    def __init__(self, server: Server, http: httpx.Client) -> None:
        self.server = server
        self.http = http
        self._runs = (f"run{number}" for number in itertools.count())

    def run(self, harness: Harness, script: str | Script, fault: str = "") -> list[Exchange]:
        """Let a harness follow a script, with a fault in the path if one is named."""
        run = next(self._runs)
        name = script if isinstance(script, str) else script.__name__
        path = f"{name};fault={fault}" if fault else name
        harness.run(self.http, self.server.url_for(path, run=run))
        return self.server.journal.exchanges(run)


def judged(clause: str, exchanges: list[Exchange], **facts: Any) -> ClauseResult:
    """The result of one clause, where these facts are known."""
    (result,) = verdict(exchanges, Facts(**facts), only=[clause])
    return result
