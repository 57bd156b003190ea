"""One layer retries, not two on top of each other."""

from __future__ import annotations

from itertools import pairwise

from fakeprovider.verdict.clause import (
    Clause,
    Finding,
    failed,
    github,
    not_applicable,
    not_observable,
    passed,
)
from fakeprovider.verdict.facts import Facts
from fakeprovider.verdict.run import Run, Step


def _judge(run: Run, facts: Facts) -> Finding:
    retried = [step for step in run.steps if len(step.attempts) > 1]
    if not retried:
        return not_applicable("nothing was retried")
    for step in retried:
        counts = _counts(step)
        if any(later < earlier for earlier, later in pairwise(counts)):
            told = ", ".join(map(str, counts))
            return failed(f"the client's own retry count starts again: {told}", step.attempts)
    lasts = [step.last for step in retried]
    if not any(_counts(step) for step in retried):
        return not_observable("this client sends no retry count", lasts)
    return passed("the client's own retry count never starts again", lasts)


def _counts(step: Step) -> list[int]:
    return [one.retry_count for one in step.attempts if one.retry_count is not None]


CLAUSE = Clause(
    "stacked_retries",
    "An application that retries what its SDK already retries multiplies the attempts.",
    github("earendil-works/pi#4991"),
    _judge,
)
