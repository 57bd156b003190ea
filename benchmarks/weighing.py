"""A model client that is weighed: how much of each prompt is system, tools and history."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fakeprovider import conversation
from fakeprovider.counting import inner_count, tools_count
from harness.models import CancelSignal, Message, Model, ModelReply, ToolSpec


@dataclass(frozen=True)
class Weight:
    """Tokens of one prompt; `history` is what is neither system nor tools."""

    system: int
    tools: int
    history: int

    @property
    def total(self) -> int:
        """The whole prompt."""
        return self.system + self.tools + self.history


class Weighing:
    """Passes requests on and keeps the weight of each, summaries included.

    The whole is what the service reports; system and tools are counted as our provider counts, so
    against another service they are close, not exact.
    """

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self.weights: list[Weight] = []
        self._model = model

    async def ask(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        *,
        max_output: int | None = None,
        cancel: CancelSignal | None = None,
        on_text: Callable[[str], None] | None = None,
    ) -> ModelReply:
        """As `Model.ask`."""
        reply = await self._model.ask(
            messages, tools, max_output=max_output, cancel=cancel, on_text=on_text
        )
        if reply.usage is not None:
            self.weights.append(_weight(messages, tools, reply.usage.prompt_tokens))
        return reply

    async def aclose(self) -> None:
        """Close the client."""
        await self._model.aclose()


def _weight(messages: Sequence[Message], tools: Sequence[ToolSpec], total: int) -> Weight:
    system = sum(
        inner_count(conversation.Message("system", message.content or ""))
        for message in messages
        if message.role == "system"
    )
    offered = [conversation.Offered(t.name, t.description, t.parameters) for t in tools]
    described = tools_count(offered)
    return Weight(system, described, max(0, total - system - described))
