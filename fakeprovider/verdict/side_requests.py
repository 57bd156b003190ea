"""All requests of a run belong to its loop."""

from __future__ import annotations

from collections import Counter

from fakeprovider.journal import Exchange
from fakeprovider.verdict.clause import Clause, Finding, failed, github, not_applicable, passed
from fakeprovider.verdict.facts import Facts
from fakeprovider.verdict.run import Run


def _judge(run: Run, facts: Facts) -> Finding:
    if not run.asked:
        return not_applicable("no request was made")
    aside = [exchange for exchange in run.asked if exchange.side]
    if not aside:
        return passed("every request was one of the loop")
    kinds = Counter(exchange.side for exchange in aside)
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    return failed(f"{told}; they cost {_tokens(aside)} tokens", aside)


def _tokens(exchanges: list[Exchange]) -> int:
    usages = [exchange.usage for exchange in exchanges if exchange.usage]
    return sum(usage.prompt_tokens + usage.completion_tokens for usage in usages)


CLAUSE = Clause(
    "side_requests",
    "Titles, probes and summaries are paid for too, and no cap or budget of the loop sees them.",
    github("openai/codex#23585"),
    _judge,
)
