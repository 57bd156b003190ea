"""A model that is slow to answer, shown at a terminal: a line that is rewritten in place."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from typing import Any

from harness.clock import Clock, SystemClock
from harness.models.base import Message, Model, ModelReply, ToolSpec

PATIENCE = 2
"""Seconds of silence before anything is said."""

WIPE = "\r\x1b[K"


def shown(model: Model, *, quiet: bool) -> Model:
    """The model, its silence shown on a terminal unless it is to be `quiet`."""
    return (
        model if quiet or sys.stderr is None or not sys.stderr.isatty() else Waiting(model, _write)
    )


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


class Waiting:
    """`model`, which says by `write` how many seconds a request has taken, and wipes that again."""

    def __init__(
        self, model: Model, write: Callable[[str], None], clock: Clock | None = None
    ) -> None:
        self.name = model.name
        self._model, self._write, self._clock = model, write, clock or SystemClock()
        self._written = False

    async def ask(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], **given: Any
    ) -> ModelReply:
        """One request, as the model sends it."""
        counting = asyncio.ensure_future(self._count())
        try:
            return await self._model.ask(messages, tools, **given)
        finally:
            counting.cancel()
            if self._written:
                self._write(WIPE)
                self._written = False

    async def aclose(self) -> None:
        """Close the model."""
        await self._model.aclose()

    async def _count(self) -> None:
        began, seconds = self._clock.monotonic(), PATIENCE
        while True:
            await self._clock.reach(began + seconds)
            self._write(f"\rwaiting for the model, {seconds} s")
            self._written = True
            seconds += 1
