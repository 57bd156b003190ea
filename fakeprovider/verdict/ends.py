"""A run ends."""

from __future__ import annotations

from collections import deque
from itertools import combinations, groupby

from fakeprovider.journal import Exchange, Stretch
from fakeprovider.parsing.history import MASK, Trail
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
from fakeprovider.verdict.run import Pair, Run, answers, repeats, user_spoke


def _judge_ends(run: Run, facts: Facts) -> Finding:
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


ENDS = Clause(
    "ends",
    "A run comes to an end by itself, whatever the model says.",
    github("code-yeongyu/oh-my-openagent#2571"),
    _judge_ends,
)


def _judge_cap(run: Run, facts: Facts) -> Finding:
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


CAP = Clause(
    "cap",
    "A cap of N means N model calls: not N + 1, not N - 1.",
    github("langchain-ai/langgraph#5548"),
    _judge_cap,
)


_SAME = 3
"""Times in a row that an answered request may not be sent: once more is a resumed run."""


def _judge_after_answer(run: Run, facts: Facts) -> Finding:
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


AFTER_ANSWER = Clause(
    "after_answer",
    "An answer without calls is the end of the loop; asking on costs money and may undo it.",
    github("narumiruna/pi-extensions#338"),
    _judge_after_answer,
)


MOST = 5
"""Times that a call may come back with the same result: one more than a patient person's."""

WINDOW = 20
"""Results that are looked back on."""


def _judge_identical_calls(run: Run, facts: Facts) -> Finding:
    if not run.pairs:
        return not_applicable("no tool result was sent")
    worst: list[Pair] = []
    seen: deque[Pair] = deque(maxlen=WINDOW)
    before: dict[tuple[str, str], str] = {}
    for pair in run.pairs:
        call = (pair.call.name, pair.call.arguments)
        if before.get(call, pair.result.text) != pair.result.text:
            seen.clear()  # a call that says something new is progress, for all of them
        before[call] = pair.result.text
        seen.append(pair)
        if pair.call.name not in facts.polling:
            worst = max(worst, _same(pair, seen), key=len)
    if len(worst) > MOST:
        return failed(
            f"{worst[0].call.name} was called {len(worst)} times within {WINDOW} results with the "
            "same arguments and the same result",
            _exchanges(worst),
        )
    return passed(f"no call came back the same more than {MOST} times")


def _same(pair: Pair, seen: deque[Pair]) -> list[Pair]:
    return [one for one in seen if _key(one) == _key(pair)]


def _key(pair: Pair) -> tuple[str, str, str]:
    return pair.call.name, pair.call.arguments, pair.result.text


def _exchanges(pairs: list[Pair]) -> list[Exchange]:
    return [pair.exchange for pair in pairs]


IDENTICAL_CALLS = Clause(
    "identical_calls",
    "A loop that learns nothing should be noticed by the harness, not by the invoice.",
    github("anthropics/claude-code#15909"),
    _judge_identical_calls,
)
