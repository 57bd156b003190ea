"""At a terminal a model that takes its time is seen to; in a pipe nothing is written of it."""

from __future__ import annotations

import asyncio
import io
from typing import Any

import pytest

from fakeprovider_harness import FakeClock
from fakeprovider_harness.commands.terminal import WIPE, Waiting, shown
from fakeprovider_harness.models.scripted import ScriptedModel, says


class Slow(ScriptedModel):
    """A model that takes `seconds` for its reply."""

    def __init__(self, clock: FakeClock, seconds: float) -> None:
        super().__init__([says("done")])
        self._clock, self._seconds = clock, seconds

    async def ask(self, *args: Any, **given: Any) -> Any:
        await asyncio.sleep(0)
        await self._clock.sleep(self._seconds)
        return await super().ask(*args, **given)


@pytest.mark.parametrize(
    ("seconds", "written"),
    [
        (1.9, []),
        (3.5, ["\rwaiting for the model, 2 s", "\rwaiting for the model, 3 s", WIPE]),
    ],
)
def test_a_line_counts_the_seconds_and_is_wiped_before_anything_else_is_said(
    seconds: float, written: list[str]
) -> None:
    lines: list[str] = []
    clock = FakeClock()
    model = Waiting(Slow(clock, seconds), lines.append, clock)
    reply = asyncio.run(model.ask((), ()))
    assert (reply.text, lines, model.name) == ("done", written, "scripted")


@pytest.mark.parametrize(("terminal", "quiet"), [(True, False), (True, True), (False, False)])
def test_only_a_terminal_that_is_not_to_be_quiet_is_told(
    terminal: bool, quiet: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = io.StringIO()
    error.isatty = lambda: terminal  # type: ignore[method-assign]
    monkeypatch.setattr("sys.stderr", error)
    model = ScriptedModel([])
    assert isinstance(shown(model, quiet=quiet), Waiting) == (terminal and not quiet)
