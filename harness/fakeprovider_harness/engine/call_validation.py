"""What becomes of a call before it runs: refused in words, put to a person, or ready."""

from __future__ import annotations

from fakeprovider_harness.engine.run_context import RunContext
from fakeprovider_harness.engine.transcript import settle_call
from fakeprovider_harness.models.base import Call
from fakeprovider_harness.state import Decision, PendingCall, RunState, canonical, of_call
from fakeprovider_harness.tooling import model_messages
from fakeprovider_harness.tooling.toolbox import Checked
from fakeprovider_harness.tools import Arguments, Tool
from fakeprovider_harness.trace import Decided

CUT = ("length", "content_filter", "refusal", "context_window")
"""Finish reasons of a reply that did not come to its end: its calls are not to be trusted."""


def examine(run: RunContext) -> None:
    """Sort the new calls: answer what cannot run, mark who needs a person, and what is ready.

    Of a reply that was cut, only reads whose arguments are whole may run.
    """
    finish = run.state.turns[-1].finish if run.state.turns else None
    cut = finish if finish in CUT else None
    explained = False
    for call in [call for call in run.state.pending if call.phase == "new"]:
        checked, tool = run.toolbox.check(call.call), run.toolbox.get(call.call.name)
        readable = tool is not None and tool.read_only and checked.arguments is not None
        if cut is not None and not readable:
            settle_call(
                call,
                model_messages.CUT_TOO if explained else model_messages.cut_off(cut),
                "skipped",
            )
            explained = True
        else:
            _sort(run, call, tool, checked)
        run.journal.finish(call)


def _sort(run: RunContext, call: PendingCall, tool: Tool | None, checked: Checked) -> None:
    if tool is None or checked.arguments is None:
        settle_call(call, checked.complaint, "invalid_args")
        return
    if (why := _denied(tool, checked.arguments)) is not None:
        settle_call(call, model_messages.denied(why), "denied")
        return
    call.args = checked.arguments
    call.signature = of_call(tool.name, tool.essential(checked.arguments))
    call.effects, call.polls = not tool.read_only, tool.max_polls if tool.polling else 0
    call.final = tool.final
    call.fingerprint = of_call(tool.name, checked.arguments)
    call.declaration = tool.declaration
    if _is_known_to_fail(run.state, call):
        settle_call(call, model_messages.KNOWN_TO_FAIL, "denied")
        return
    call.phase = "ready"
    if _asks(run, tool, call):
        call.phase, call.asked = "awaiting", run.clock.time()


def _denied(tool: Tool, arguments: Arguments) -> str | None:
    try:
        return tool.denied(arguments)
    except Exception as error:  # a rule that fails has not said that the call may run
        return f"{type(error).__name__}: {error}"


def _asks(run: RunContext, tool: Tool, call: PendingCall) -> bool:
    """Whether a person is asked; a standing approval answers, but not for what may repeat."""
    if run.settings.unknown == "ask" and not tool.repeatable and _repeats_unknown(run.state, call):
        call.note = model_messages.REPEATS_UNKNOWN
        return True
    standing = run.state.always.get(tool.name)
    if standing is not None and standing.declaration == call.declaration:
        call.decision = Decision(
            True, call.fingerprint, by=standing.by, at=standing.at, standing=True
        )
        tell(run, call)
        return False
    try:
        return tool.asks(call.args or {})
    except Exception:  # a predicate that fails has not said that nobody need be asked
        return True


def _is_known_to_fail(state: RunState, call: PendingCall) -> bool:
    """Whether the very same call has failed for good before."""
    return any(record.permanent and record.call == call.signature for record in state.results)


def _repeats_unknown(state: RunState, call: PendingCall) -> bool:
    """Whether the same call was made before and nobody knows whether it took effect."""
    return any(
        record.call == call.signature and record.outcome in ("unknown", "timeout")
        for record in state.results
    )


def review(run: RunContext, call: PendingCall) -> None:
    """Take in what was decided on a call, or not decided in time, since the last run."""
    tell(run, call)
    if call.phase in ("ready", "awaiting") and not _as_examined(run, call):
        call.phase, call.decision = "new", None
        call.edited = False
    elif call.phase == "ready" and call.edited:
        _check_edit(run, call)
    elif call.phase == "awaiting" and _expired(run, call):
        limit = run.settings.approval_expiry or 0
        settle_call(call, model_messages.undecided(limit), "not_started")


def tell(run: RunContext, call: PendingCall) -> None:
    """Tell the trace of a decision, once: who decided what, and when."""
    decision = call.decision
    if decision is None or call.heard:
        return
    call.heard = True
    run.journal.emit(
        Decided(
            run.state.run_id,
            call.call.name,
            call.call.id,
            decision.approved,
            decision.reason,
            decision.by,
            decision.at,
            edited=canonical(call.args) if call.edited else None,
            standing=decision.standing,
        )
    )


def _as_examined(run: RunContext, call: PendingCall) -> bool:
    """A decision is for one call, its arguments and the tool as it was; else it counts for none."""
    tool = run.toolbox.get(call.call.name)
    if tool is not None and tool.declaration != call.declaration:
        return False
    decided = call.fingerprint if call.decision is None else call.decision.fingerprint
    return of_call(call.call.name, call.args or {}) == call.fingerprint == decided


def _check_edit(run: RunContext, call: PendingCall) -> None:
    """Arguments that a person wrote must fit like the model's; else that person is asked again."""
    tool = run.toolbox.get(call.call.name)
    changed = Call(call.call.id, call.call.name, canonical(call.args))
    checked = run.toolbox.check(changed)
    if tool is not None and checked.arguments is not None:
        call.signature = of_call(tool.name, tool.essential(checked.arguments))
        return
    call.phase, call.decision, call.note = "awaiting", None, checked.complaint
    call.asked = run.clock.time()


def _expired(run: RunContext, call: PendingCall) -> bool:
    limit = run.settings.approval_expiry
    return limit is not None and run.clock.time() - call.asked >= limit
