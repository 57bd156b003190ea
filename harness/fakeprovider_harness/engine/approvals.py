"""What a person says of a call: it holds for this call, this tool and these arguments only."""

from __future__ import annotations

import time
import warnings
from typing import Any

from fakeprovider_harness import quantities
from fakeprovider_harness.engine.transcript import settle_call
from fakeprovider_harness.state import Decision, PendingCall, RunState, Standing, of_call
from fakeprovider_harness.tooling import model_messages


class StaleDecision(Exception):
    """No such call waits for a decision; nothing was changed."""


class UnsafeRejection(UserWarning):
    """The model will not be told that its call was rejected, and may claim that it was done."""


def approve(
    state: RunState,
    call_id: str,
    *,
    always: bool = False,
    arguments: dict[str, Any] | None = None,
    by: str = "",
    at: float | None = None,
    expires_in: float | None = None,
) -> RunState:
    """Let the call run when the run goes on, `always`: also later calls of this tool in this run.

    For a call whose outcome is unknown: run it again. `arguments` replace those that the model
    sent, and the model is told; if they do not fit the tool, the call is asked about again. `by`
    is who decided and `at` when, in seconds since the epoch (default: now). `expires_in` is how
    many seconds the approval may wait to be acted on; after that the call is asked about again.
    Raises `StaleDecision` where `call_id` does not wait for a decision, `TypeError` or `ValueError`
    for an argument that cannot be meant; nothing is changed then.
    """
    now = _checked("approve", by, at)
    quantities.flag("approve: always", always)
    quantities.mapping("approve: arguments", arguments)
    quantities.amount("approve: expires_in", expires_in)
    call = _find(state, call_id, "awaiting", "unknown")
    if arguments is not None:
        call.fingerprint = of_call(call.call.name, arguments)
        call.args, call.edited = arguments, True
    expires = None if expires_in is None else now + float(expires_in)
    _decide(call, Decision(True, call.fingerprint, by=by, at=now, expires=expires))
    call.phase = "ready"
    if always:
        state.always[call.call.name] = Standing(call.declaration, by, now)
    return state


def reject(
    state: RunState,
    call_id: str,
    reason: str | None = None,
    *,
    rejection_text: str | None = None,
    by: str = "",
    at: float | None = None,
) -> RunState:
    """Do not run the call; the model reads that the user declined it, and `reason` verbatim.

    A call approved in advance may be rejected as long as it has not started. `rejection_text`
    replaces the whole message; empty, it warns (`UnsafeRejection`): a model that is told nothing
    reports a success. `by` and `at` as in `approve`. Raises `StaleDecision` where `call_id` has
    started, ended or never was, `TypeError` for an argument of the wrong type.
    """
    now = _checked("reject", by, at)
    quantities.text("reject: reason", reason, optional=True)
    quantities.text("reject: rejection_text", rejection_text, optional=True)
    call = _find(state, call_id, "awaiting", "ready", "unknown")
    if rejection_text is not None and not rejection_text.strip():
        message = f"the model will not be told that {call_id} was rejected: give a reason instead"
        warnings.warn(message, UnsafeRejection, stacklevel=2)
    unknown = call.may_have_run
    text = model_messages.not_repeated(reason) if unknown else model_messages.declined(reason)
    _decide(call, Decision(False, call.fingerprint, reason, by, now))
    settle_call(
        call,
        text if rejection_text is None else rejection_text,
        "unknown" if unknown else "denied",
    )
    return state


def settle(
    state: RunState, call_id: str, text: str, *, by: str = "", at: float | None = None
) -> RunState:
    """A call whose outcome was unknown did take effect: `text` is its result.

    `by` and `at` as in `approve`. Raises `StaleDecision` where the outcome of `call_id` is not
    unknown, `TypeError` for an argument of the wrong type.
    """
    now = _checked("settle", by, at)
    quantities.text("settle: text", text)
    call = _find(state, call_id, "unknown")
    _decide(call, Decision(True, call.fingerprint, "it took effect", by, now))
    settle_call(call, text, "ok")
    return state


def _checked(what: str, by: object, at: Any) -> float:
    """When it was decided; refuses what could not be stored with the run."""
    quantities.text(f"{what}: by", by)
    quantities.amount(f"{what}: at", at)
    return time.time() if at is None else float(at)


def _decide(call: PendingCall, decision: Decision) -> None:
    call.decision, call.heard = decision, False


def _find(state: RunState, call_id: str, *phases: str) -> PendingCall:
    for call in state.pending:
        if call.call.id == call_id and call.phase in phases:
            return call
    if any(call.call.id == call_id and call.phase == "awaiting" for call in state.pending):
        raise StaleDecision(f"call {call_id!r} waits for an approval: use approve() or reject()")
    waiting = ", ".join(wait.call_id for wait in state.interruptions) or "none"
    raise StaleDecision(f"call {call_id!r} is not waiting for a decision; waiting: {waiting}")
