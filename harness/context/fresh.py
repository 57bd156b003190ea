"""A fresh context: everything is left out but the task and what was carried over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

from harness import refusals
from harness.context.outline import outline
from harness.context.policy import Moment, refuse_sizes
from harness.context.summarise import OUTLINE
from harness.state import RunState
from harness.tools import Tool
from harness.view import View, opening, tail

Carry = Callable[[RunState], str]


@dataclass(frozen=True)
class Fresh:
    """Begin the conversation again with what `carry` says, such as the run's own notes on disk.

    It happens once a prompt and its reply reach `window` tokens. The last reply stays, with its
    results, which the model has not seen yet. Where `carry` says nothing or
    fails, a list of the calls is carried over instead.
    """

    window: int
    carry: Carry

    def __post_init__(self) -> None:
        refuse_sizes(self)
        refusals.expect(callable(self.carry), "Fresh: carry is a function of the state", self.carry)

    def tools(self, state: RunState) -> Sequence[Tool]:
        """None."""
        return ()

    async def compact(self, moment: Moment) -> View | None:
        """The view that shows the opening and the carried text only."""
        state = moment.state
        head, upto = opening(state.messages), tail(state.messages, 1, inf)
        if upto <= max(head, state.view.upto):
            return None
        return View(head, upto, self._carried(state, head, upto), turn=len(state.turns))

    def _carried(self, state: RunState, head: int, upto: int) -> str:
        try:
            text = self.carry(state) or ""
            refusals.text("what carry returns", text)
        except Exception as error:  # notes that cannot be read must not end the run
            text, failed = "", f" ({type(error).__name__}: {error})"
        else:
            failed = ""
        return text or f"{OUTLINE}{failed}\n{outline(state.messages[head:upto])}"
