"""The messages of the next request: made once per view, then only extended by what is new."""

from __future__ import annotations

from harness.models.base import Message
from harness.state import RunState
from harness.view import View, shown


class Outgoing:
    """Keeps the list that was sent last, so that the work per request is that of the new part.

    The transcript is repaired when a leg first sends it and when its view changes; in between, the
    loop itself appends, and in order.
    """

    def __init__(self) -> None:
        self._view: View | None = None
        self._sent: list[Message] = []
        self._known = 0

    def messages(self, state: RunState) -> list[Message]:
        """What the request is to carry; do not change it."""
        if state.view != self._view:
            self._sent, self._view = shown(state.messages, state.view), state.view
        else:
            self._sent.extend(state.messages[self._known :])
        self._known = len(state.messages)
        return self._sent
