"""One case of the contract: what the model does, under which limits, and what goes wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Fault, Reply


@dataclass(frozen=True)
class Case:
    """Prints as what to paste.

    `script` is what the model does. `turns` and `tokens` limit the run, `resumed` is the limit of
    turns of a second leg (None: there is none). `fault` goes wrong on the way. `approves` is what
    the person says. With `dies` the process is gone at the first effect, and the run is resumed.
    `cancel` is the turn (from 0) that is under way when the run is cancelled.
    """

    script: Callable[[Conversation], Reply]
    turns: int | None = 10
    tokens: int | None = None
    resumed: int | None = None
    fault: Fault | None = None
    approves: bool = True
    dies: bool = False
    cancel: int | None = None

    def __repr__(self) -> str:
        shown = [f"    {one.name}={_indented(getattr(self, one.name))}," for one in _told(self)]
        return "\n".join(["Case(", *shown, ")"])


def _told(case: Case) -> list[Any]:
    own = fields(case)
    return [one for one in own if one.name == "script" or getattr(case, one.name) != one.default]


def _indented(value: Any) -> str:
    shown = repr(value)
    if isinstance(value, Fault):
        shown = f"Fault({value.name!r}, {dict(value.params)!r})"
    return shown.replace("\n", "\n    ")
