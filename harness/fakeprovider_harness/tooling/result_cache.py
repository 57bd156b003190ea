"""Results of earlier calls, for a model that asks for the same thing twice.

A cached answer saves the execution and no tokens: the call and its result are in the transcript
all the same. Errors are never cached, and any write makes every cached result stale.
"""

from __future__ import annotations

from collections.abc import Iterable

from fakeprovider_harness import state
from fakeprovider_harness.models.base import Call, Message
from fakeprovider_harness.settings import Dedupe
from fakeprovider_harness.state import Outcome
from fakeprovider_harness.tooling.toolbox import Toolbox, parse_arguments
from fakeprovider_harness.tools import Tool


class ResultCache:
    """Texts by tool and canonical arguments; rebuilt from a transcript, so never stored."""

    def __init__(self, policy: Dedupe, toolbox: Toolbox) -> None:
        self._policy = policy
        self._toolbox = toolbox
        self._texts: dict[str, str] = {}

    def get(self, tool: Tool, key: str) -> str | None:
        """The text of an equal earlier call that is still true, if the policy allows it."""
        return self._texts.get(key) if self.covers(tool) else None

    def note(self, tool: Tool, key: str, text: str, outcome: Outcome) -> None:
        """Take note of an execution and its result."""
        if not tool.read_only:
            self._texts.clear()
        if outcome == "ok" and self.covers(tool):
            self._texts[key] = text

    def replay(self, messages: Iterable[Message]) -> None:
        """Take note of a whole transcript, as if its calls had just been run."""
        if self._policy == "off":
            return
        calls: dict[str, Call] = {}
        for message in messages:
            calls.update((call.id, call) for call in message.calls)
            if message.role == "tool" and message.outcome in ("ok", "error", "timeout", "unknown"):
                self._replay(calls.get(message.call_id or ""), message)

    def _replay(self, call: Call | None, result: Message) -> None:
        tool = None if call is None else self._toolbox.get(call.name)
        if call is None or tool is None:
            return
        arguments, _ = parse_arguments(call.arguments)
        key = state.of_call(call.name, arguments)
        self.note(tool, key, result.content or "", "ok" if result.outcome == "ok" else "error")

    def covers(self, tool: Tool) -> bool:
        """Whether results of this tool are kept."""
        if self._policy == "off" or tool.polling:
            return False
        return tool.read_only or self._policy == "all"
