"""A model without a provider: it says what it is told to, and refuses what a service would.

For tests of tools, stop conditions and loops that need no socket. A scripted provider over the
real protocols is what shows the rest.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from fakeprovider_harness.models.base import (
    Call,
    CancelSignal,
    Message,
    ModelError,
    ModelReply,
    ToolSpec,
    Usage,
)

USAGE = Usage(1_000, 100)
Step = ModelReply | ModelError
Script = Sequence[Step] | Callable[[int, Sequence[Message]], Step]


def calls(*wanted: tuple[str, str, Any], usage: Usage | None = USAGE) -> ModelReply:
    """A reply that asks for tools: (call id, tool, arguments as an object or as sent)."""
    made = tuple(Call(id, name, _text(arguments)) for id, name, arguments in wanted)
    return ModelReply(calls=made, finish="tool_calls", usage=usage)


def says(text: str, *, usage: Usage | None = USAGE, finish: str = "stop") -> ModelReply:
    """A reply in words."""
    return ModelReply(text, finish=finish, usage=usage)


def _text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


class ScriptedModel:
    """Gives its n-th request the n-th reply, or what a function of n and the messages returns.

    `requests` keeps what each request carried and `charged` what each cost. A transcript that a
    strict service refuses raises `ModelError` with status 400, and so does a script that ran out.
    """

    def __init__(self, script: Script, *, name: str = "scripted", forever: bool = False) -> None:
        self.name = name
        self.requests: list[tuple[Message, ...]] = []
        self.charged: list[Usage] = []
        self._script = script
        self._forever = forever

    async def ask(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        *,
        max_output: int | None = None,
        cancel: CancelSignal | None = None,
        on_text: Callable[[str], None] | None = None,
    ) -> ModelReply:
        findings = problems(messages)
        if findings:
            raise ModelError("400: " + "; ".join(findings), status=400)
        self.requests.append(tuple(messages))
        step = self._step(len(self.requests) - 1, messages)
        if isinstance(step, ModelError):
            raise step
        self.charged.append(step.usage or Usage(0, 0))
        if on_text is not None and step.text:
            on_text(step.text)
        return step

    def _step(self, turn: int, messages: Sequence[Message]) -> Step:
        if callable(self._script):
            return self._script(turn, messages)
        if self._forever:
            turn = min(turn, len(self._script) - 1)
        if turn >= len(self._script):
            return ModelError(f"400: the script has no reply {turn + 1}", status=400)
        return self._script[turn]

    async def aclose(self) -> None:
        return None


def problems(messages: Sequence[Message]) -> list[str]:
    """What a strict service would refuse in a transcript: each says where."""
    findings: list[str] = []
    seen: set[str] = set()
    waiting: list[str] = []
    for index, message in enumerate(messages):
        if message.role == "tool":
            if waiting and waiting[0] == message.call_id:
                waiting.pop(0)
            else:
                findings.append(f"message {index}: no call waits for a result {message.call_id!r}")
            continue
        if waiting:
            findings.append(f"message {index}: calls without a result: {', '.join(waiting)}")
        waiting = [call.id for call in message.calls]
        findings += [f"message {index}: {problem}" for problem in _call_problems(message, seen)]
        seen.update(waiting)
    if waiting:
        findings.append(f"the last calls have no result: {', '.join(waiting)}")
    return findings


def _call_problems(message: Message, seen: set[str]) -> list[str]:
    if message.role == "assistant" and not message.content and not message.calls:
        return ["an assistant message says nothing"]
    ids = [call.id for call in message.calls]
    findings = [f"id {id!r} is used twice" for id in ids if id in seen or ids.count(id) > 1]
    return findings + [f"{c.id}: arguments are no object" for c in message.calls if not _sound(c)]


def _sound(call: Call) -> bool:
    try:
        return isinstance(json.loads(call.arguments), dict)
    except ValueError:
        return False
