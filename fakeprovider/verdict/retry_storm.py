"""Retries are few, and do not follow each other at once."""

from __future__ import annotations

from fakeprovider.verdict.clause import Clause, Finding, failed, github, not_applicable, passed
from fakeprovider.verdict.facts import Facts
from fakeprovider.verdict.run import Run, Step

MOST = 10
"""Attempts of one request; official clients make 3, Codex 6, Claude Code 7 and more."""

AT_ONCE = 0.1
"""Seconds; the shortest wait of an official client is 0.4."""

IN_A_ROW = 3
"""Retries at once that make a storm: one may be a connection that was found dead."""


def _judge(run: Run, facts: Facts) -> Finding:
    retried = [step for step in run.steps if len(step.attempts) > 1]
    if not retried:
        return not_applicable("nothing was retried")
    for step in retried:
        if len(step.attempts) > MOST:
            return failed(f"{len(step.attempts)} attempts of one request", step.attempts)
        if _hasty(step):
            return failed(f"{IN_A_ROW} retries in a row without a wait", step.attempts)
    most = max(len(step.attempts) for step in retried)
    return passed(f"at most {most} attempts, with waits", [step.last for step in retried])


def _hasty(step: Step) -> bool:
    gaps = step.gaps
    return any(max(gaps[at : at + IN_A_ROW]) < AT_ONCE for at in range(len(gaps) - IN_A_ROW + 1))


CLAUSE = Clause(
    "retry_storm",
    "Retries without a wait keep an overloaded service down, and cost on every attempt.",
    github("block/buzz#5557"),
    _judge,
)
