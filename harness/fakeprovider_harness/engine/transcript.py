"""The transcript: append-only, each call with one result in call order; and what is sent of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from fakeprovider_harness.models.base import Call, Message, ModelReply
from fakeprovider_harness.models.wire import mend, mend_arguments
from fakeprovider_harness.outcomes import Status, Stop, StopKind
from fakeprovider_harness.records import View
from fakeprovider_harness.state import (
    CallRecord,
    Outcome,
    PendingCall,
    RunState,
    ToolResult,
    digest,
    of_text,
)
from fakeprovider_harness.tooling import model_messages


def add_reply(state: RunState, reply: ModelReply, taken: set[str]) -> None:
    """Append the assistant message of a reply, and put its calls into `pending`.

    The message is one that a service accepts back: a placeholder for an empty reply, an id of its
    own for each call (`taken` are those in use and grows), arguments that are a JSON object.
    """
    turn = len(state.turns) + 1
    for position, call in enumerate(reply.calls):
        own = _own_id(call.id, turn, position, taken)
        sound = Call(own, mend(call.name), mend_arguments(call.arguments))
        state.pending.append(PendingCall(f"{turn}.{position}", sound))
    calls = tuple(_acceptable(pending.call) for pending in state.pending)
    content = mend(reply.text) or (None if calls else model_messages.EMPTY_REPLY)
    state.messages.append(Message("assistant", content, calls, opaque=reply.opaque))


def _own_id(provider_id: str, turn: int, position: int, taken: set[str]) -> str:
    """The id the provider gave, unless it is in use: then one made of it."""
    own = provider_id or f"call_{turn}p{position}"
    while own in taken:
        own = f"{own}_{turn}p{position}"
    taken.add(own)
    return own


def _acceptable(call: Call) -> Call:
    return call if _is_object(call.arguments) else Call(call.id, call.name, "{}")


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def call_ids(messages: list[Message]) -> set[str]:
    """The call ids that the transcript uses."""
    return {call.id for message in messages for call in message.calls}


def flush(state: RunState) -> None:
    """Move the results that are next in call order from `pending` to the transcript."""
    while state.pending and (result := state.pending[0].result) is not None:
        pending = state.pending.pop(0)
        call = pending.call
        state.messages.append(
            Message("tool", result.text, call_id=call.id, name=call.name, outcome=result.outcome)
        )
        state.results.append(_record(pending, result))


def _record(pending: PendingCall, result: ToolResult) -> CallRecord:
    call = pending.call
    return CallRecord(
        turn=pending.turn,
        tool=call.name,
        call=pending.signature or digest(call.name, call.arguments),
        result=of_text(result.text),
        outcome=result.outcome,
        effect=pending.effects and not result.cached and result.outcome in ("ok", "unknown"),
        polls=pending.polls,
        final=pending.final and result.outcome == "ok",
        permanent=result.permanent,
    )


def settle_call(call: PendingCall, text: str, outcome: Outcome) -> None:
    """Give a call its result without running it."""
    call.result = ToolResult(text, outcome)
    call.phase = "done"


def answer_open(state: RunState, stop: Stop | None) -> list[PendingCall]:
    """Give every call without a result one that names `stop` in words; returns `pending`."""
    skipped = stop is not None and stop.kind is StopKind.MAX_TOOL_CALLS
    for call in state.pending:
        if call.result is None and call.may_have_run:
            settle_call(call, model_messages.interrupted(), "unknown")
        elif call.result is None:
            settle_call(call, model_messages.not_run(stop), "skipped" if skipped else "not_started")
    return list(state.pending)


def close(state: RunState, stop: Stop | None = None) -> RunState:
    """Answer every pending call in words, so that the transcript can be handed on; returns it.

    The words name `stop`, by default the stop of the state. A call that was running when its
    process died is answered `unknown`, one that never started `not_started` (`skipped` where a
    limit on tool calls kept it from running).
    """
    answer_open(state, stop or state.stop)
    flush(state)
    return state


def say(state: RunState, text: str) -> RunState:
    """Close the transcript, add a user message and make the run go on; returns the state.

    Calls that wait for a decision are superseded: no later decision finds them.
    """
    for call in state.pending:
        if call.phase == "awaiting":
            settle_call(call, model_messages.SUPERSEDED, "not_started")
    close(state)
    state.messages.append(Message("user", mend(text)))
    state.answer = ""
    state.reopen(afresh=True)
    return state


NUDGES = (model_messages.ASK_AGAIN, model_messages.GO_ON)


def shown(messages: Sequence[Message], view: View) -> list[Message]:
    """The messages that requests carry under `view`: what any service accepts, whatever it says."""
    places = list(enumerate(messages))
    spoken = [entry for entry in places[view.head : view.upto] if _is_users(entry[1])]
    kept = [*places[: view.head], *spoken, *places[max(view.head, view.upto) :]]
    notes = _numbers(messages) if view.stubbed else {}
    visible = [
        _stub(message, view, notes[place]) if place < view.stubbed and place in notes else message
        for place, message in kept
    ]
    if view.text:
        visible.insert(view.head + len(spoken), Message("user", view.text))
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
    sound: list[Message] = []
    waiting: tuple[Call, ...] = ()
    results: dict[str, Message] = {}
    for message in messages:
        if message.role == "tool":
            results.setdefault(message.call_id or "", message)
            continue
        sound += [results.get(call.id) or _lost(call) for call in waiting]
        sound.append(message)
        waiting, results = message.calls, {}
    return sound + [results.get(call.id) or _lost(call) for call in waiting]


def _lost(call: Call) -> Message:
    return Message(
        "tool", model_messages.RESULT_LOST, call_id=call.id, name=call.name, outcome="unknown"
    )


def _is_users(message: Message) -> bool:
    """Whether the user said it, and not the loop in their place."""
    return message.role == "user" and message.content not in NUDGES


def _numbers(messages: Sequence[Message]) -> dict[int, int]:
    """The place of each result, and its number among the results, from 1."""
    places = [place for place, message in enumerate(messages) if message.role == "tool"]
    return {place: number for number, place in enumerate(places, 1)}


def _stub(message: Message, view: View, number: int) -> Message:
    content = message.content or ""
    text = model_messages.left_out(len(content), view.recall, number)
    return msgspec.structs.replace(message, content=text) if len(text) < len(content) else message


CLIP_HEAD = 0.75
"""Share of what is kept that comes from the beginning; the rest is the end."""


def clipped(message: Message, most: int | None) -> Message:
    """The message with at most `most` characters of a tool's result, and a notice with both sizes.

    It depends on the message alone, so what was sent once is sent the same again.
    """
    text = message.content or ""
    if message.role != "tool" or most is None or len(text) <= most:
        return message
    head = int(most * CLIP_HEAD)
    end = text[len(text) - (most - head) :]
    notice = model_messages.clipped(len(text) - most, len(text))
    return msgspec.structs.replace(message, content=f"{text[:head]}\n{notice}\n{end}")


class Outgoing:
    """Keeps the list that was sent last, so that the work per request is that of the new part.

    `max_result` is how many characters of one tool result are sent.

    The transcript is repaired when it is first sent after a start or a resume, and when its view
    changes; in between, the loop itself appends, and in order.
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


CALLS = 5
"""Calls that are shown, the last ones."""

CLIP = 200
"""Characters of arguments and of results that are shown."""


def handed_over(stop: Stop, state: RunState) -> Stop:
    """The stop with the last calls as evidence, if it is one for lack of progress."""
    if stop.status is not Status.NO_PROGRESS:
        return stop
    evidence = {**stop.evidence, "last_calls": last_calls(state)}
    return msgspec.structs.replace(stop, evidence=evidence)


def last_calls(state: RunState) -> list[dict[str, Any]]:
    """The last calls with their results, the first one first."""
    calls: list[dict[str, Any]] = []
    unmatched: dict[str, dict[str, Any]] = {}
    for message in reversed(state.messages):
        if message.role == "tool" and message.call_id and len(calls) < CALLS:
            shown = {"outcome": message.outcome, "result": (message.content or "")[:CLIP]}
            unmatched[message.call_id] = shown
            calls.append(shown)
        for call in message.calls:
            if call.id in unmatched:
                unmatched.pop(call.id).update(_excerpt(call))
        if len(calls) == CALLS and not unmatched:
            break
    return calls[::-1]


def _excerpt(call: Call) -> dict[str, Any]:
    return {"tool": call.name, "args": call.arguments[:CLIP]}
