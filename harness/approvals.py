"""What a person says of a call: it holds for this call, this tool and these arguments only."""

from __future__ import annotations

import warnings

from harness import wording
from harness.state import Decision, PendingCall, RunState
from harness.transcript import settle_call


class StaleDecision(Exception):
    """No such call waits for a decision; nothing was changed."""


class UnsafeRejection(UserWarning):
    """The model will not be told that its call was rejected, and may claim that it was done."""


def approve(state: RunState, call_id: str, *, always: bool = False) -> RunState:
    """Let the call run when the run goes on, `always`: also later calls of this tool.

    For a call whose outcome is unknown: run it again. Raises `StaleDecision` where `call_id` does
    not wait for a decision.
    """
    call = _find(state, call_id, "awaiting", "unknown")
    call.decision = Decision(True, call.fingerprint)
    call.phase = "ready"
    if always:
        state.always[call.call.name] = call.declaration
    return state


def reject(
    state: RunState,
    call_id: str,
    reason: str | None = None,
    *,
    rejection_text: str | None = None,
) -> RunState:
    """Do not run the call; the model reads that the user declined it, and `reason` verbatim.

    A call approved in advance may be rejected as long as it has not started. `rejection_text`
    replaces the whole message; empty, it warns (`UnsafeRejection`): a model that is told nothing
    reports a success. Raises `StaleDecision` where `call_id` has started, ended or never was.
    """
    call = _find(state, call_id, "awaiting", "ready", "unknown")
    if rejection_text is not None and not rejection_text.strip():
        message = f"the model will not be told that {call_id} was rejected: give a reason instead"
        warnings.warn(message, UnsafeRejection, stacklevel=2)
    unknown = call.may_have_run
    text = wording.not_repeated(reason) if unknown else wording.declined(reason)
    call.decision = Decision(False, call.fingerprint, reason)
    settle_call(
        call,
        text if rejection_text is None else rejection_text,
        "unknown" if unknown else "denied",
    )
    return state


def settle(state: RunState, call_id: str, text: str) -> RunState:
    """A call whose outcome was unknown did take effect: `text` is its result.

    Raises `StaleDecision` where the outcome of `call_id` is not unknown.
    """
    call = _find(state, call_id, "unknown")
    call.decision = Decision(True, call.fingerprint)
    settle_call(call, text, "ok")
    return state


def _find(state: RunState, call_id: str, *phases: str) -> PendingCall:
    for call in state.pending:
        if call.call.id == call_id and call.phase in phases:
            return call
    waiting = ", ".join(wait.call_id for wait in state.interruptions) or "none"
    raise StaleDecision(f"call {call_id!r} is not waiting for a decision; waiting: {waiting}")
