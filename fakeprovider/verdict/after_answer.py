"""Nothing is asked once the model has answered and the user has not spoken again."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

from fakeprovider.journal import Exchange
from fakeprovider.verdict.clause import Clause, Finding, failed, github, not_applicable, passed
from fakeprovider.verdict.facts import Facts
from fakeprovider.verdict.run import Run, answers, user_spoke

_SAME = 3
"""Times that an answered request may not be sent: once more is a resumed run."""


def _judge(run: Run, facts: Facts) -> Finding:
    answered = [step.last for step in run.steps if answers(step.last)]
    if not answered:
        return not_applicable("there was no answer")
    late = _late(run) + _repeated(answered)
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


def _repeated(answered: list[Exchange]) -> list[Exchange]:
    """The same request again and again though it was answered; a first request may be a new run."""
    counts = Counter(exchange.digest for exchange in answered if exchange.turn)
    return [exchange for exchange in answered if counts[exchange.digest] >= _SAME]


CLAUSE = Clause(
    "after_answer",
    "An answer without calls is the end of the loop; asking on costs money and may undo it.",
    github("narumiruna/pi-extensions#338"),
    _judge,
)
