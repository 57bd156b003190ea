"""The messages of the next request: made once per view, then only extended by what is new."""

from __future__ import annotations

from harness.clipping import clipped
from harness.models.base import Message
from harness.state import RunState
from harness.view import View, shown


class Outgoing:
    """Keeps the list that was sent last, so that the work per request is that of the new part.

    `max_result` is how many characters of one tool result are sent.

    The transcript is repaired when a leg first sends it and when its view changes; in between, the
    loop itself appends, and in order.
    """

    def __init__(self, max_result: int | None = None) -> None:
        self._max_result = max_result
        self._view: View | None = None
        self._sent: list[Message] = []
        self._known = 0

    def messages(self, state: RunState) -> list[Message]:
        """What the request is to carry; do not change it."""
        if state.view != self._view:
            self._sent, self._view = self._clipped(shown(state.messages, state.view)), state.view
        else:
            self._sent.extend(self._clipped(state.messages[self._known :]))
        self._known = len(state.messages)
        return self._sent

    def _clipped(self, messages: list[Message]) -> list[Message]:
        return [clipped(message, self._max_result) for message in messages]
