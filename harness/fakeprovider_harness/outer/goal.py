"""Goal: the agent works until a second, smaller model says that the goal is met."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import reduce
from operator import or_

import msgspec

from fakeprovider_harness.outcomes import Status, StopKind
from fakeprovider_harness.outer.caps import Caps
from fakeprovider_harness.outer.report import Iteration, OuterKind, OuterReport, OuterStop, Spent
from fakeprovider_harness.outer.setup import Setup, needs_person
from fakeprovider_harness.state import RunState
from fakeprovider_harness.stop import Condition, Limit, latest_turns, streak
from fakeprovider_harness.verify.evaluator import Evaluator
from fakeprovider_harness.verify.verifier import Claim, Verdict, Verifier, asked, failed, stale

CHECKS = re.compile(
    r"\b(tests?|pass(es)?|command|exits?|status|files?|build|lint|mypy|ruff|checks?|returns?|"
    r"contains?|equals?|count|coverage|errors?|warnings?)\b|`|\d",
    re.I,
)
BOUNDS = re.compile(
    r"\b(at most|no more than|until|within|after|stop|give up|turns?|minutes?|hours?|tries|"
    r"attempts?)\b|\$",
    re.I,
)


@dataclass(frozen=True, kw_only=True)
class Goal:
    """A goal in words, and the evaluator that says whether a transcript meets it.

    `check`, if there is one, has to pass as well: an evaluator's word is an opinion. `idle` rounds
    in a row without a tool call end the loop; so do `unclear` answers in a row that are none.
    """

    text: str
    evaluator: Evaluator
    check: Verifier | None = None
    idle: int = 3
    unclear: int = 3


def vague(goal: str) -> str | None:
    """What a goal does not say, in words: a check that can be made, or a bound; None if it does."""
    missing = [
        words
        for words, found in (
            ("check (tests that pass, a command, a file, a number)", CHECKS.search(goal)),
            ("bound (“or stop after 20 turns”)", BOUNDS.search(goal)),
        )
        if not found
    ]
    if not missing:
        return None
    return f"the goal names no {' and no '.join(missing)}: it may never be seen to be met"


async def goal(state: RunState, wanted: Goal, setup: Setup, caps: Caps) -> OuterReport:
    """Let the run go on until its goal is met; each time it stops working, the evaluator looks.

    The whole loop is one run whose verifier is the evaluator: its requests are admitted, charged
    and counted in the run, and it can be resumed. `caps.iterations` counts the looks. A goal that
    names no check or no bound is warned about.
    """
    warning = vague(wanted.text)
    if warning is not None:
        setup.say(f"warning: {warning}")
    settings = replace(setup.settings, verifications=None, verifier_retries=0)
    inner = replace(setup, verify=_Judge(wanted), settings=settings, stop=None)
    await inner.run(state, _limits(wanted, setup, caps))
    return OuterReport("goal", _iterations(state), _stop(state, wanted, caps), state.verified)


def _limits(wanted: Goal, setup: Setup, caps: Caps) -> Condition:
    """All that may end it, counted over the whole run, whatever process it began in."""
    looks = None if caps.iterations is None else Looks(caps.iterations)
    given = (Idle(wanted.idle), Unclear(wanted.unclear), looks, setup.stop, caps.room(Spent()))
    return reduce(or_, [condition for condition in given if condition is not None])


@dataclass(frozen=True, repr=False)
class Idle(Limit):
    """Stop after `limit` replies in a row without a tool call, in a leg."""

    limit: int
    kind = StopKind.NO_PROGRESS
    scope = "leg"

    def measure(self, state: RunState) -> int:
        return streak(not turn.calls for turn in latest_turns(state))


@dataclass(frozen=True, repr=False)
class Unclear(Limit):
    """Stop after `limit` looks in a row, in a leg, at which the evaluator said nothing usable."""

    limit: int
    kind = StopKind.NO_PROGRESS
    scope = "leg"

    def measure(self, state: RunState) -> int:
        count = 0
        for check in reversed(state.checks):
            if check.evidence.get("opinion") != UNCLEAR or check.turn <= state.leg_turns:
                break
            count += 1
        return count


@dataclass(frozen=True, repr=False)
class Looks(Limit):
    """Stop after `limit` looks of the evaluator."""

    limit: int
    kind = StopKind.MAX_TURNS

    def measure(self, state: RunState) -> int:
        return len(state.checks)


UNCLEAR = "unclear"


class _Judge:
    """The evaluator's word, and the check beside it, as a verdict on a claim."""

    def __init__(self, wanted: Goal) -> None:
        self._wanted = wanted

    async def __call__(self, claim: Claim) -> Verdict:
        verdict = await asked(self._wanted.evaluator, claim)
        if verdict.kind == "error":
            words = "it could not be told whether the goal is met. Go on if it is not."
            return failed(words, opinion=UNCLEAR, error=verdict.feedback)
        if verdict.kind != "pass":
            return verdict
        if self._wanted.check is not None:
            return _by("check", await asked(self._wanted.check, claim))
        if claim.state.tool_runs == 0:
            return stale("the evaluator calls it met, but nothing was run: a person has to look")
        return _by("evaluator", verdict)


def _by(whom: str, verdict: Verdict) -> Verdict:
    return msgspec.structs.replace(verdict, evidence={**verdict.evidence, "by": whom})


def _stop(state: RunState, wanted: Goal, caps: Caps) -> OuterStop:
    """What the end of the run means for the loop."""
    stop = state.stop
    if stop is None:
        return OuterStop(OuterKind.USER)
    value, most = (None, None) if stop.limit is None else (str(stop.value), str(stop.limit))
    evidence = {**stop.evidence, "run": str(stop.kind)}
    return needs_person(state) or OuterStop(_kind(state, wanted, caps), value, most, evidence)


def _kind(state: RunState, wanted: Goal, caps: Caps) -> OuterKind:
    kind = StopKind.CANCELLED if state.stop is None else state.stop.kind
    if kind in ENDS:
        return ENDS[kind]
    if kind is StopKind.NO_PROGRESS and Unclear(wanted.unclear)(state):
        return OuterKind.UNCLEAR
    if kind is StopKind.NO_PROGRESS and Idle(wanted.idle)(state):
        return OuterKind.IDLE
    if caps.iterations is not None and Looks(caps.iterations)(state):
        return OuterKind.MAX_ITERATIONS
    if state.status is Status.NO_PROGRESS:
        return OuterKind.NO_PROGRESS
    return OuterKind.RUN_STOPPED


ENDS = {
    StopKind.VERIFIED: OuterKind.MET,
    StopKind.CLAIMED: OuterKind.CLAIMED,
    StopKind.GOAL_UNREACHABLE: OuterKind.IMPOSSIBLE,
    StopKind.MAX_COST: OuterKind.MAX_COST,
    StopKind.MAX_TOKENS: OuterKind.MAX_TOKENS,
    StopKind.ACTIVE_TIME: OuterKind.MAX_SECONDS,
    StopKind.CANCELLED: OuterKind.USER,
    StopKind.PROVIDER_ERROR: OuterKind.FAILURES,
    StopKind.RATE_LIMITED: OuterKind.FAILURES,
    StopKind.PROVIDER_UNAVAILABLE: OuterKind.FAILURES,
}


def _iterations(state: RunState) -> list[Iteration]:
    """A round per look: what was done up to it, and what the look itself cost."""
    looks = [check.turn for check in state.checks]
    ends = looks if looks[-1:] == [len(state.turns)] else [*looks, len(state.turns)]
    starts = [0, *ends[:-1]]
    return [
        _iteration(state, number, start, end)
        for number, (start, end) in enumerate(zip(starts, ends, strict=True), 1)
        if end > start
    ]


def _iteration(state: RunState, number: int, start: int, end: int) -> Iteration:
    turns = state.turns[start:end]
    beside = [request for request in state.beside if start < request.turn <= end]
    spent = [(turn.usage, turn.cost_usd) for turn in turns]
    spent += [(request.usage, request.cost_usd) for request in beside]
    check = next((check for check in state.checks if check.turn == end), None)
    return Iteration(
        number,
        state.run_id,
        state.times.started,
        turns=len(turns),
        tool_runs=sum(turn.calls for turn in turns),
        context=turns[0].usage.prompt_tokens,
        input_tokens=sum(usage.prompt_tokens for usage, _ in spent),
        output_tokens=sum(usage.completion_tokens for usage, _ in spent),
        cost_usd=sum((cost for _, cost in spent if cost is not None), Decimal(0)),
        unpriced=sum(cost is None for _, cost in spent),
        verified=check is not None and check.verdict == "pass",
        notes=() if check is None else (f"{check.verdict}: {check.feedback}".rstrip(": "),),
    )
