"""A run ends."""

from __future__ import annotations

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
from fakeprovider.verdict.run import Run, answers


def _judge(run: Run, facts: Facts) -> Finding:
    if not run.steps:
        return not_applicable("no request was made")
    last = run.steps[-1].last
    if facts.ended is False:
        return failed(f"it had to be stopped after {len(run.steps)} model calls", [last])
    if answers(last):
        return passed("the last reply was an answer, and nothing followed", [last])
    if facts.ended:
        return passed("it ended by itself; which limit ended it the wire does not show", [last])
    return not_observable("the last reply was no answer, and nobody watched what ended it", [last])


CLAUSE = Clause(
    "ends",
    "A run comes to an end by itself, whatever the model says.",
    github("code-yeongyu/oh-my-openagent#2571"),
    _judge,
)
