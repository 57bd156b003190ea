"""The same call with the same result is not made for ever."""

from __future__ import annotations

from collections import deque

from fakeprovider.journal import Exchange
from fakeprovider.verdict.clause import Clause, Finding, failed, github, not_applicable, passed
from fakeprovider.verdict.facts import Facts
from fakeprovider.verdict.run import Pair, Run

MOST = 5
"""Times that a call may come back with the same result: one more than a patient person's."""

WINDOW = 20
"""Results that are looked back on."""


def _judge(run: Run, facts: Facts) -> Finding:
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


CLAUSE = Clause(
    "identical_calls",
    "A loop that learns nothing should be noticed by the harness, not by the invoice.",
    github("anthropics/claude-code#15909"),
    _judge,
)
