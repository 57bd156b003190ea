"""The context policies: drop old results, start fresh, summarise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import msgspec

from fakeprovider_harness import quantities
from fakeprovider_harness.budget.charging import Pricing
from fakeprovider_harness.context.policy import Moment, refuse_sizes
from fakeprovider_harness.engine import run_arguments
from fakeprovider_harness.engine.transcript import opening, shown, size, tail
from fakeprovider_harness.models.base import Message, Model
from fakeprovider_harness.records import View
from fakeprovider_harness.state import RunState
from fakeprovider_harness.tools import Tool, ToolError

RECALL = "recall"
NOTE: dict[str, Any] = {
    "type": "object",
    "properties": {"note": {"type": "integer"}},
    "required": ["note"],
}


@dataclass(frozen=True)
class DropResults:
    """Show a line in place of every result older than the last `keep` replies.

    It happens once a prompt and its reply reach `window` tokens. The model can only call again.
    """

    window: int
    keep: int = 2

    def __post_init__(self) -> None:
        refuse_sizes(self, self.keep)

    def tools(self, state: RunState) -> Sequence[Tool]:
        """None."""
        return ()

    async def compact(self, moment: Moment) -> View | None:
        """The view with the older results as stubs."""
        return stubs(moment.state, self.keep, "")


@dataclass(frozen=True)
class Notes:
    """As `DropResults`, but each line has a number, and the tool `recall` returns what stood there.

    What is fetched is in the history again until it is old in its turn; the tool's description is
    part of every prompt.
    """

    window: int
    keep: int = 2

    def __post_init__(self) -> None:
        refuse_sizes(self, self.keep)

    def tools(self, state: RunState) -> Sequence[Tool]:
        """`recall(note)`."""

        def recall(note: int) -> str:
            results = [message for message in state.messages if message.role == "tool"]
            if not 1 <= note <= len(results):
                raise ToolError(f"there is no note {note}; they are numbered 1 to {len(results)}.")
            return results[note - 1].content or ""

        about = "Return a result that was left out of the conversation, by its note number."
        return (Tool(RECALL, about, NOTE, recall, read_only=True),)

    async def compact(self, moment: Moment) -> View | None:
        """The view with the older results as numbered stubs."""
        return stubs(moment.state, self.keep, RECALL)


def stubs(state: RunState, keep: int, recall: str) -> View | None:
    """The view with all results older than the last `keep` replies as stubs; None if it is that."""
    room = sum(map(size, shown(state.messages, state.view))) / 2
    until = tail(state.messages, keep, room, least=1)  # what the model has not seen yet stays
    if all(message.role != "tool" for message in state.messages[state.view.stubbed : until]):
        return None
    return msgspec.structs.replace(state.view, stubbed=until, recall=recall, turn=len(state.turns))


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
        quantities.expect(
            callable(self.carry), "Fresh: carry is a function of the state", self.carry
        )

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
            quantities.text("what carry returns", text)
        except Exception as error:  # notes that cannot be read must not end the run
            text, failed = "", f" ({type(error).__name__}: {error})"
        else:
            failed = ""
        return text or f"{OUTLINE}{failed}\n{outline(state.messages[head:upto])}"


SHOWN = 120  # characters of arguments and of replies


def outline(messages: Sequence[Message]) -> str:
    """A line for each call with its outcome and size, and for each reply in words."""
    sizes = {m.call_id: (m.outcome, len(m.content or "")) for m in messages if m.role == "tool"}
    lines: list[str] = []
    for message in messages:
        if message.role == "assistant" and message.content:
            lines.append(f"- said: {message.content[:SHOWN]}")
        for call in message.calls:
            outcome, size = sizes.get(call.id, ("unknown", 0))
            called = f"{call.name} {call.arguments[:SHOWN]}"
            lines.append(f"- called {called}: {outcome}, {size} characters")
    return "\n".join(lines)


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
            run_arguments.check({"model": self.model})

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
