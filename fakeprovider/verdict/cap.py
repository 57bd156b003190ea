"""A stated cap on model calls is kept, to the call."""

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
    if facts.cap is None:
        return not_applicable("no cap was stated")
    if not run.steps:
        return not_applicable("no request was made")
    lasts = [step.last for step in run.steps]
    allowed = facts.cap + _wrap_up(run, facts)
    made = f"{len(lasts)} model calls under a cap of {facts.cap}"
    if len(lasts) > allowed:
        return failed(made, lasts[allowed:])
    if len(lasts) == allowed or answers(lasts[-1]):
        return passed(made, lasts[-1:])
    if lasts[-1].broken or len(lasts) < facts.cap - 1:
        return not_observable(f"{made}; what ended it earlier the wire does not show", lasts[-1:])
    return failed(f"{made}, and the model had asked for more", lasts[-1:])


def _wrap_up(run: Run, facts: Facts) -> int:
    """The one request more that was declared, if it is one: the last, without tools."""
    last = run.steps[-1].last
    return int(facts.wrap_up and last.offered == 0 and any(one.offered for one in run.loop))


CLAUSE = Clause(
    "cap",
    "A cap of N means N model calls: not N + 1, not N - 1.",
    github("langchain-ai/langgraph#5548"),
    _judge,
)
