"""Nothing is asked once the model has answered and the user has not spoken again."""

from __future__ import annotations

from itertools import combinations, groupby

from fakeprovider.journal import Exchange
from fakeprovider.verdict.clause import Clause, Finding, failed, github, not_applicable, passed
from fakeprovider.verdict.facts import Facts
from fakeprovider.verdict.run import Run, answers, user_spoke

_SAME = 3
"""Times in a row that an answered request may not be sent: once more is a resumed run."""


def _judge(run: Run, facts: Facts) -> Finding:
    answered = [step.last for step in run.steps if answers(step.last)]
    if not answered:
        return not_applicable("there was no answer")
    late = _late(run) + _repeated(run)
    if late:
        return failed(f"{len(late)} request(s) after an answer, and no word of the user", late)
    return passed("nothing was asked after an answer", answered[-1:])


def _late(run: Run) -> list[Exchange]:
    """Requests that go on from an answer although the user has not spoken."""
    lasts = [step.last for step in run.steps]
    return [
        later
        for earlier, later in combinations(lasts, 2)
        if answers(earlier) and not user_spoke(later) and _goes_on(earlier, later)
    ]


def _goes_on(earlier: Exchange, later: Exchange) -> bool:
    if earlier.head is None or later.base is None:
        return later.turn == (earlier.turn or 0) + 1
    return later.base == earlier.head and later.turn != earlier.turn


def _repeated(run: Run) -> list[Exchange]:
    """An answered request that is sent again and again; a first request may be a new run."""
    lasts = (step.last for step in run.steps)
    same = (list(group) for _, group in groupby(lasts, lambda exchange: exchange.digest))
    return [
        exchange
        for group in same
        if len(group) >= _SAME and group[0].turn and answers(group[0])
        for exchange in group[1:]
    ]


CLAUSE = Clause(
    "after_answer",
    "An answer without calls is the end of the loop; asking on costs money and may undo it.",
    github("narumiruna/pi-extensions#338"),
    _judge,
)
