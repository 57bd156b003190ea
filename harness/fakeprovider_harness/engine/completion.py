"""Whether the last reply ends the run: by itself, or because its claim was checked."""

from __future__ import annotations

from collections.abc import Iterator

from fakeprovider_harness.outcomes import Stop, StopKind
from fakeprovider_harness.state import Check, RunState

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
    """The check, made in this leg, of the last reply's claim; None if it is still due."""
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
