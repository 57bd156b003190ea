"""Nothing is asked once the model has answered and the user has not spoken again."""

from __future__ import annotations

from itertools import combinations, groupby

from fakeprovider.history import MASK, Trail
from fakeprovider.journal import Exchange, Stretch
from fakeprovider.verdict.clause import Clause, Finding, failed, github, not_applicable, passed
from fakeprovider.verdict.facts import Facts
from fakeprovider.verdict.run import Run, answers, repeats, user_spoke

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
    late = {
        later.number: later
        for earlier, later in combinations(lasts, 2)
        if answers(earlier) and not user_spoke(later) and _asks_on(earlier, later)
    }
    return list(late.values())


def _asks_on(earlier: Exchange, later: Exchange) -> bool:
    """Whether a request goes on from an answer, in whatever history the answer now stands."""
    if earlier.head is None or later.base is None:
        return later.turn == (earlier.turn or 0) + 1
    if later.base == earlier.head:
        return later.turn != earlier.turn
    return repeats(later, earlier) or _puts_words_in(earlier, later, earlier.head, later.base)


def _puts_words_in(earlier: Exchange, later: Exchange, head: Stretch, base: Stretch) -> bool:
    """Whether the answer is followed by an assistant turn that the client made up."""
    if earlier.turn is None or later.turn is None or later.turn < earlier.turn + 2:
        return False
    answer = base.total - head.total & MASK  # what was added, if it was one message
    return Trail(head.length, head.chain, head.total).then(answer) == Trail(
        base.length, base.chain, base.total
    )


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
