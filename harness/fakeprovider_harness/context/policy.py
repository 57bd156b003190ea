"""What a context policy is: asked when the prompt reaches its window, it says what to show less."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from fakeprovider_harness import quantities
from fakeprovider_harness.budget.charging import Pricing
from fakeprovider_harness.models.base import Message, Model
from fakeprovider_harness.records import View
from fakeprovider_harness.state import RunState
from fakeprovider_harness.tools import Tool

Ask = Callable[[Sequence[Message], Model | None, Pricing, int | None], Awaitable[str]]
"""Asks for a text beside the conversation: prompt, model (None: the run's), its price, tokens."""


@dataclass(frozen=True)
class Moment:
    """The run when it is asked to show less. `state` is to be read, not changed.

    `ask` sends a request that is charged to the run; it returns "" where no text came.
    """

    state: RunState
    ask: Ask


def refuse_sizes(policy: ContextPolicy, keep: int = 0) -> None:
    """Refuse a window of less than a token, and to `keep` less than no reply; raises as `whole`."""
    name = type(policy).__name__
    quantities.whole(f"{name}: window, in tokens,", policy.window, least=1, optional=False)
    quantities.whole(f"{name}: keep", keep, optional=False)


class ContextPolicy(Protocol):
    """Decides what requests leave out once a prompt and its reply reach `window` tokens."""

    @property
    def window(self) -> int: ...

    def tools(self, state: RunState) -> Sequence[Tool]:
        """What the model is offered beside its own tools."""
        ...

    async def compact(self, moment: Moment) -> View | None:
        """The view from here on, None where nothing can be left out."""
        ...
