"""Which part of a transcript requests carry: the transcript itself is never cut or changed."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from fakeprovider_harness.models.base import Call, Message
from fakeprovider_harness.records import View
from fakeprovider_harness.state import RunState
from fakeprovider_harness.tooling import model_messages
from fakeprovider_harness.tooling.truncation import clipped

NUDGES = (model_messages.ASK_AGAIN, model_messages.GO_ON)


def shown(messages: Sequence[Message], view: View) -> list[Message]:
    """The messages that requests carry under `view`: what any service accepts, whatever it says."""
    places = list(enumerate(messages))
    said = [entry for entry in places[view.head : view.upto] if _said(entry[1])]
    kept = [*places[: view.head], *said, *places[max(view.head, view.upto) :]]
    notes = _numbers(messages) if view.stubbed else {}
    visible = [
        _stub(message, view, notes[place]) if place < view.stubbed and place in notes else message
        for place, message in kept
    ]
    if view.text:
        visible.insert(view.head + len(said), Message("user", view.text))
    return repaired(visible)


def opening(messages: Sequence[Message]) -> int:
    """How many messages there are before the model's first."""
    spoken = (
        place for place, message in enumerate(messages) if message.role in ("assistant", "tool")
    )
    return next(spoken, len(messages))


def boundary(messages: Sequence[Message], place: int) -> int:
    """The nearest place at or before `place` that does not lie between a call and its result."""
    while 0 < place < len(messages) and messages[place].role == "tool":
        place -= 1
    return place


def tail(messages: Sequence[Message], units: int, room: float, least: int = 0) -> int:
    """Where the last `units` units begin; fewer if they have over `room` characters, not `least`.

    A unit is a reply with its results, and what the user said after it: it is never split.
    """
    starts = [place for place, message in enumerate(messages) if message.role == "assistant"]
    begins = [*starts, len(messages)]
    for kept in range(min(units, len(starts)), least, -1):
        if sum(map(size, messages[begins[-1 - kept] :])) <= room:
            return begins[-1 - kept]
    return begins[-1 - min(least, len(starts))]


def size(message: Message) -> int:
    """Characters of a message: text, calls, and a few for its frame."""
    calls = sum(len(call.name) + len(call.arguments) for call in message.calls)
    return len(message.content or "") + calls + 40


def repaired(messages: Sequence[Message]) -> list[Message]:
    """The messages with every call answered once, in call order, and no result without its call.

    The second net under every way of cutting a history; it changes nothing that is sound.
    """
    found: list[Message] = []
    waiting: tuple[Call, ...] = ()
    results: dict[str, Message] = {}
    for message in messages:
        if message.role == "tool":
            results.setdefault(message.call_id or "", message)
            continue
        found += [results.get(call.id) or _lost(call) for call in waiting]
        found.append(message)
        waiting, results = message.calls, {}
    return found + [results.get(call.id) or _lost(call) for call in waiting]


def _lost(call: Call) -> Message:
    return Message(
        "tool", model_messages.RESULT_LOST, call_id=call.id, name=call.name, outcome="unknown"
    )


def _said(message: Message) -> bool:
    return message.role == "user" and message.content not in NUDGES


def _numbers(messages: Sequence[Message]) -> dict[int, int]:
    """The place of each result, and its number among the results, from 1."""
    places = [place for place, message in enumerate(messages) if message.role == "tool"]
    return {place: number for number, place in enumerate(places, 1)}


def _stub(message: Message, view: View, number: int) -> Message:
    content = message.content or ""
    text = model_messages.left_out(len(content), view.recall, number)
    return msgspec.structs.replace(message, content=text) if len(text) < len(content) else message


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
