"""The gate: whether a run may go on, passed before the model is asked and before each tool."""

from __future__ import annotations

from collections.abc import Iterable

from fakeprovider_harness.engine.completion import completion
from fakeprovider_harness.engine.run_context import Leg
from fakeprovider_harness.outcomes import Stop, StopKind, weightiest
from fakeprovider_harness.state import RunState
from fakeprovider_harness.stop import fired


def gate(leg: Leg) -> Stop | None:
    """Why the run may not go on, the weightiest reason first; None if it may."""
    leg.tick()
    rounds, verifying = leg.settings.verifications, leg.verifier is not None
    holds = [*_cancelled(leg), *completion(leg.state, rounds, verifying=verifying)]
    held = (*fired(leg.condition, leg.state), *leg.account.over())
    if held and (wait := interruption(leg.state)) is not None:
        holds.append(wait)
    return weightiest([*holds, *held])


def interruption(state: RunState) -> Stop | None:
    """The stop that undecided calls lead to, None where nobody need be asked."""
    waits = state.interruptions
    if not waits:
        return None
    asked = any(wait.type == "approval" for wait in waits)
    kind = StopKind.APPROVAL if asked else StopKind.UNKNOWN_OUTCOME
    return Stop(kind, evidence={"calls": [wait.call_id for wait in waits]})


def _cancelled(leg: Leg) -> Iterable[Stop]:
    if leg.cancel.cancelled:
        yield Stop(StopKind.CANCELLED, evidence={"reason": leg.cancel.reason})
