"""Every call has its result, and every result its call."""

from __future__ import annotations

from fakeprovider.verdict.clause import Clause, Finding, failed, github, not_applicable, passed
from fakeprovider.verdict.facts import Facts
from fakeprovider.verdict.run import Run

_RULES = frozenset(
    {
        "unanswered_call",
        "orphan_result",
        "second_result",
        "twice_in_turn",
        "id_again",
        "result_not_first",
    }
)


def _judge(run: Run, facts: Facts) -> Finding:
    broken = [
        exchange
        for exchange in run.exchanges
        if any(violation.rule in _RULES for violation in exchange.violations)
    ]
    if broken:
        first = next(one for one in broken[0].violations if one.rule in _RULES)
        return failed(f"message {first.index}: {first.detail}", broken)
    if not any(exchange.calls or exchange.heard[1:] for exchange in run.asked):
        return not_applicable("no call was made")
    return passed("calls and results go together in every request")


CLAUSE = Clause(
    "pairing",
    "A dangling call or an orphan result is refused, now and in every later request.",
    github("charmbracelet/crush#529"),
    _judge,
)
