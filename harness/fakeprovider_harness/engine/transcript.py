"""The transcript: append-only, and every call in it gets exactly one result, in call order."""

from __future__ import annotations

import json

from fakeprovider_harness.models.base import Call, Message, ModelReply
from fakeprovider_harness.models.surrogates import mend, mend_arguments
from fakeprovider_harness.outcomes import Stop, StopKind
from fakeprovider_harness.state import CallRecord, Outcome, PendingCall, RunState, ToolResult
from fakeprovider_harness.tooling import fingerprint, model_messages


def add_reply(state: RunState, reply: ModelReply, taken: set[str]) -> None:
    """Append the assistant message of a reply, and put its calls into `pending`.

    The message is one that a service accepts back: a placeholder for an empty reply, an id of its
    own for each call (`taken` are those in use and grows), arguments that are a JSON object.
    """
    turn = len(state.turns) + 1
    for position, call in enumerate(reply.calls):
        own = _own_id(call.id, turn, position, taken)
        given = Call(own, mend(call.name), mend_arguments(call.arguments))
        state.pending.append(PendingCall(f"{turn}.{position}", given))
    calls = tuple(_acceptable(pending.call) for pending in state.pending)
    content = mend(reply.text) or (None if calls else model_messages.EMPTY_REPLY)
    state.messages.append(Message("assistant", content, calls, opaque=reply.opaque))


def _own_id(given: str, turn: int, position: int, taken: set[str]) -> str:
    """The id the provider gave, unless it is in use: then one made of it."""
    own = given or f"call_{turn}p{position}"
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
        call=pending.signature or fingerprint.digest(call.name, call.arguments),
        result=fingerprint.of_text(result.text),
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
