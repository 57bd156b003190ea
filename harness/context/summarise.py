"""A summary in place of the older part: one more request, charged to the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness import arguments, quantities
from harness.charging import Pricing
from harness.context.outline import outline
from harness.context.policy import Moment, refuse_sizes
from harness.models.base import Message, Model
from harness.state import RunState
from harness.tools import Tool
from harness.view import View, opening, shown, size, tail

PROMPT = (
    "The conversation above will be replaced by your summary. Write down what is needed to go on: "
    "what was asked for, what was found out, what was done, what is left. Do not call tools."
)
HEADING = "Summary of the work so far:"
OUTLINE = "What was done so far (no summary could be had):"


@dataclass(frozen=True)
class Summarise:
    """Replace all but the last `keep` replies, with their results, by a summary.

    It happens once a prompt and its reply reach `window` tokens. Of the last replies only those
    are kept that take at most half of what is shown. `model` writes the summary at a `price` of
    its own, by default the run's model at the run's price; `max_output` in tokens. A request that
    fails, overflows or says nothing is charged all the same, and a list of the calls, made without
    a model, stands in.
    """

    window: int
    keep: int = 2
    model: Model | None = None
    price: Pricing = None
    max_output: int | None = 1_000

    def __post_init__(self) -> None:
        refuse_sizes(self, self.keep)
        quantities.whole("Summarise: max_output", self.max_output, least=1)
        if self.model is not None:
            arguments.check({"model": self.model})

    def tools(self, state: RunState) -> Sequence[Tool]:
        """None."""
        return ()

    async def compact(self, moment: Moment) -> View | None:
        """One request, and the view without what it sums up."""
        state = moment.state
        head = opening(state.messages)
        room = sum(map(size, shown(state.messages, state.view))) / 2
        upto = max(tail(state.messages, self.keep, room), state.view.upto)
        if upto <= max(head, state.view.upto):
            return None
        old = shown(state.messages[:upto], state.view)
        prompt = [*old, Message("user", PROMPT)]
        text = await moment.ask(prompt, self.model, self.price, self.max_output)
        new = f"{HEADING}\n{text}" if text else self._outlined(state, head, upto)
        return View(head, upto, new, turn=len(state.turns))

    def _outlined(self, state: RunState, head: int, upto: int) -> str:
        """What stood there before, and a list of what has been done since."""
        before, since = state.view.text, max(head, state.view.upto)
        listed = f"{OUTLINE}\n{outline(state.messages[since:upto])}"
        return f"{before}\n\n{listed}" if before else listed
