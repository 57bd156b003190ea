"""Clauses on how a run ends: by itself, within its cap, and with its answer."""

from __future__ import annotations

from itertools import combinations, groupby

from fakeprovider.conversation import MASK, Trail
from fakeprovider.journal import Exchange, Stretch
from fakeprovider.verdict.clause import (
    Judgement,
    clause,
    failed,
    not_applicable,
    not_observable,
    passed,
)
from fakeprovider.verdict.run import Run, answers, repeats, user_spoke


@clause(
    "ends",
    why="A run comes to an end by itself, whatever the model says.",
    source="code-yeongyu/oh-my-openagent#2571",
)
def ends(run: Run) -> Judgement:
    if not run.steps:
        return not_applicable("no request was made")
    last = run.steps[-1].last
    if run.facts.ended is False:
        return failed(f"it had to be stopped after {len(run.steps)} model calls", [last])
    if answers(last):
        return passed("the last reply was an answer, and nothing followed", [last])
    if run.facts.ended:
        return passed("it ended by itself; which limit ended it the wire does not show", [last])
    return not_observable("the last reply was no answer, and nobody watched what ended it", [last])


_IN_A_ROW = 3
"""Times in a row that an answered request may not be sent: once more is a resumed run."""


@clause(
    "after_answer",
    why="An answer without calls is the end of the loop; asking on costs money and may undo it.",
    source="narumiruna/pi-extensions#338",
)
def after_answer(run: Run) -> Judgement:
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
    alike = (list(group) for _, group in groupby(lasts, lambda exchange: exchange.digest))
    return [
        exchange
        for group in alike
        if len(group) >= _IN_A_ROW and group[0].turn and answers(group[0])
        for exchange in group[1:]
    ]


@clause(
    "cap",
    why="A cap of N means N model calls: not N + 1, not N - 1.",
    source="langchain-ai/langgraph#5548",
)
def cap(run: Run) -> Judgement:
    limit = run.facts.cap
    if limit is None:
        return not_applicable("no cap was stated")
    if not run.steps:
        return not_applicable("no request was made")
    lasts = [step.last for step in run.steps]
    allowed = limit + _wrap_up(run)
    made = f"{len(lasts)} model calls under a cap of {limit}"
    if len(lasts) > allowed:
        return failed(made, lasts[allowed:])
    if len(lasts) == allowed or answers(lasts[-1]):
        return passed(made, lasts[-1:])
    if lasts[-1].broken or len(lasts) < limit - 1:
        return not_observable(f"{made}; what ended it earlier the wire does not show", lasts[-1:])
    return failed(f"{made}, and the model had asked for more", lasts[-1:])


def _wrap_up(run: Run) -> int:
    """The one request more that was declared, if it is one: the last, without tools."""
    last = run.steps[-1].last
    return int(
        run.facts.wrap_up and last.offered == 0 and any(exchange.offered for exchange in run.loop)
    )
