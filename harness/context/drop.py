"""Old results left out: no request, but what they said is gone, or has to be fetched again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from harness.context.policy import Moment, refuse_sizes
from harness.state import RunState
from harness.tools import Tool, ToolError
from harness.view import View, shown, size, tail

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
