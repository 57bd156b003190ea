"""What is known of a call before it runs: a complaint, a person to ask, or ready."""

from __future__ import annotations

from fakeprovider_harness.engine import decisions
from fakeprovider_harness.engine.run_context import Leg
from fakeprovider_harness.engine.transcript import settle_call
from fakeprovider_harness.state import Decision, PendingCall, RunState
from fakeprovider_harness.tooling import fingerprint, model_messages
from fakeprovider_harness.tooling.toolbox import Checked
from fakeprovider_harness.tools import Arguments, Tool

CUT = ("length", "content_filter", "refusal", "context_window")
"""Finish reasons of a reply that did not come to its end: its calls are not to be trusted."""


def examine(leg: Leg) -> None:
    """Sort the new calls: answer what cannot run, mark who needs a person, and what is ready.

    Of a reply that was cut, only reads whose arguments are whole may run.
    """
    finish = leg.state.turns[-1].finish if leg.state.turns else None
    cut = finish if finish in CUT else None
    told = False
    for call in [call for call in leg.state.pending if call.phase == "new"]:
        checked, tool = leg.toolbox.check(call.call), leg.toolbox.get(call.call.name)
        readable = tool is not None and tool.read_only and checked.arguments is not None
        if cut is not None and not readable:
            settle_call(
                call, model_messages.CUT_TOO if told else model_messages.cut_off(cut), "skipped"
            )
            told = True
        else:
            _sort(leg, call, tool, checked)
        leg.finish(call)


def _sort(leg: Leg, call: PendingCall, tool: Tool | None, checked: Checked) -> None:
    if tool is None or checked.arguments is None:
        settle_call(call, checked.complaint, "invalid_args")
        return
    if (why := _denied(tool, checked.arguments)) is not None:
        settle_call(call, model_messages.denied(why), "denied")
        return
    call.args = checked.arguments
    call.signature = fingerprint.of_call(tool.name, tool.essential(checked.arguments))
    call.effects, call.polls = not tool.read_only, tool.max_polls if tool.polling else 0
    call.final = tool.final
    call.fingerprint = fingerprint.of_call(tool.name, checked.arguments)
    call.declaration = tool.declaration
    if _is_known_to_fail(leg.state, call):
        settle_call(call, model_messages.KNOWN_TO_FAIL, "denied")
        return
    call.phase = "ready"
    if _asks(leg, tool, call):
        call.phase, call.asked = "awaiting", leg.clock.time()


def _denied(tool: Tool, arguments: Arguments) -> str | None:
    try:
        return tool.denied(arguments)
    except Exception as error:  # a rule that fails has not said that the call may run
        return f"{type(error).__name__}: {error}"


def _asks(leg: Leg, tool: Tool, call: PendingCall) -> bool:
    """Whether a person is asked; a standing approval answers, but not for what may repeat."""
    if leg.settings.unknown == "ask" and not tool.repeatable and _repeats_unknown(leg.state, call):
        call.note = model_messages.REPEATS_UNKNOWN
        return True
    standing = leg.state.always.get(tool.name)
    if standing is not None and standing.declaration == call.declaration:
        call.decision = Decision(
            True, call.fingerprint, by=standing.by, at=standing.at, standing=True
        )
        decisions.tell(leg, call)
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
