"""The gate: whether a run may go on, passed before the model is asked and before each tool."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fakeprovider_harness import quantities
from fakeprovider_harness.conditions import NoProgress
from fakeprovider_harness.conditions.progress import UNKNOWN, unreadable
from fakeprovider_harness.engine.run_context import RunContext
from fakeprovider_harness.models.base import Message
from fakeprovider_harness.outcomes import Stop, StopKind, weightiest
from fakeprovider_harness.state import Check, Nudge, Reading, RunState
from fakeprovider_harness.stop import fired
from fakeprovider_harness.trace import Note


def gate(run: RunContext) -> Stop | None:
    """Why the run may not go on, the weightiest reason first; None if it may."""
    run.clock.tick()
    rounds, verifying = run.settings.verifications, run.verifier is not None
    holds = [*_cancelled(run), *completion(run.state, rounds, verifying=verifying)]
    held = (*fired(run.condition, run.state), *run.account.over())
    if held and (wait := interruption(run.state)) is not None:
        holds.append(wait)
    stops = [*holds, *held]
    return weightiest(stops) if stops else None


def interruption(state: RunState) -> Stop | None:
    """The stop that undecided calls lead to, None where nobody need be asked."""
    waits = state.interruptions
    if not waits:
        return None
    approval = any(wait.type == "approval" for wait in waits)
    kind = StopKind.APPROVAL if approval else StopKind.UNKNOWN_OUTCOME
    return Stop(kind, evidence={"calls": [wait.call_id for wait in waits]})


def _cancelled(run: RunContext) -> Iterable[Stop]:
    if run.cancel.cancelled:
        yield Stop(StopKind.CANCELLED, evidence={"reason": run.cancel.reason})


NEVER = {
    "content_filter": StopKind.PROVIDER_ERROR,
    "refusal": StopKind.PROVIDER_ERROR,
    "context_window": StopKind.CONTEXT_WINDOW,
}
"""Finish reasons that end a run without completing it."""

DECIDED = {
    "stale": StopKind.CLAIMED,
    "error": StopKind.VERIFIER_ERROR,
    "unreachable": StopKind.GOAL_UNREACHABLE,
}
"""Verdicts that end a run at once, without completing it."""


def completion(
    state: RunState, rounds: int | None = None, *, verifying: bool = False
) -> Iterator[Stop]:
    """The stop that the last reply leads to: an answer, a refusal, a full context; else none.

    Calls decide, whatever the finish reason says: a reply with calls is no answer. With a verifier
    (`verifying`) a claim completes nothing by itself: what counts is the check of it, and `rounds`
    failed ones end the run.
    """
    if not state.turns or (state.turns[-1].calls and state.claim is None):
        return
    finish = state.turns[-1].finish
    if finish in NEVER and waits(state):
        yield Stop(NEVER[finish], evidence={"error": f"the reply ended with {finish}"})
    elif verifying:
        yield from _by_check(state, rounds)
    elif state.claim is not None and waits(state):
        yield Stop(StopKind.ANSWERED)


def waits(state: RunState) -> bool:
    """Whether nothing has been said since the last reply."""
    return bool(state.turns) and state.messages[-1].role in ("assistant", "tool")


def checked(state: RunState) -> Check | None:
    """The check, made in this run, of the last reply's claim; None if it is still due."""
    check = state.checks[-1] if state.checks else None
    made = check is not None and (check.turn, check.leg) == (len(state.turns), state.legs)
    return check if made else None


def _by_check(state: RunState, rounds: int | None) -> Iterator[Stop]:
    check = checked(state)
    if check is None:
        return
    if state.verified:
        yield Stop(StopKind.VERIFIED, evidence=check.evidence)
    elif check.verdict in DECIDED:
        yield Stop(DECIDED[check.verdict], evidence={"error": check.feedback, **check.evidence})
    elif check.verdict == "fail":
        failed = sum(check.verdict == "fail" for check in state.checks)
        if rounds is not None and failed >= rounds:
            evidence = {"error": check.feedback, **check.evidence}
            yield Stop(StopKind.VERIFICATION_FAILED, failed, rounds, failed - rounds, evidence)


def measure(run: RunContext) -> None:
    """Read every measure, or note that it could not be: before the first turn, after each round."""
    state = run.state
    if state.pending:
        return
    turn = len(state.turns)
    for leaf in run.condition.leaves():
        if isinstance(leaf, NoProgress) and leaf.measure and not _is_read(run, leaf, turn):
            _take(run, leaf, _reading(state, leaf, turn))


def _is_read(run: RunContext, leaf: NoProgress, turn: int) -> bool:
    """Whether the reading of this turn was taken; a turn without calls is no round."""
    readings = [reading for reading in run.state.readings if reading.name == leaf.name]
    if leaf.reported and (not turn or any(each.value is not None for each in readings)):
        return True  # a round without a report is none of its rounds, once there was one
    if turn and not run.state.turns[-1].calls:
        return True
    return any(reading.turn == turn for reading in readings)


def _reading(state: RunState, leaf: NoProgress, turn: int) -> Reading:
    if leaf.reported:
        return Reading(turn, leaf.name, None)
    try:
        value = leaf.function(state)
        return Reading(turn, leaf.name, None if value is None else quantities.reading(value))
    except Exception as error:  # whatever the caller's function raises; the stop says it
        return Reading(turn, leaf.name, None, f"{type(error).__name__}: {error}")


def _take(run: RunContext, leaf: NoProgress, reading: Reading) -> None:
    """Keep a reading; a failure is noted at once, an unknown number once it lasts."""
    state = run.state
    state.readings.append(reading)
    if reading.value is not None:
        return
    own = [each for each in state.readings if each.name == leaf.name]
    if reading.error or len(unreadable(state, own)) >= (leaf.rounds or 1):
        run.journal.emit(Note(state.run_id, f"measure {leaf.name}: {reading.error or UNKNOWN}"))


def nudge(run: RunContext) -> None:
    """Tell the model, once, what a condition has to say before it stops the run."""
    state = run.state
    for leaf in run.condition.leaves():
        text = leaf.advice(state)
        if text is not None:
            kind = str(leaf.kind)
            state.messages.append(Message("user", text))
            state.nudges.append(Nudge(len(state.turns), kind))
            run.journal.emit(Note(state.run_id, f"nudge ({kind}): {text}"))
