"""Calls of a reply that was cut are not run."""

from __future__ import annotations

from fakeprovider.journal import Called, Exchange
from fakeprovider.verdict.clause import Clause, Finding, github, not_applicable
from fakeprovider.verdict.facts import Facts
from fakeprovider.verdict.run import Run
from fakeprovider.verdict.unfit import became, only_unfit


def _cut(exchange: Exchange, call: Called) -> bool:
    return exchange.finish == "length" or exchange.broken


def _judge(run: Run, facts: Facts) -> Finding:
    calls = only_unfit(run, _cut)
    if not calls:
        return not_applicable("no reply with calls was cut")
    return became(run, facts, calls, "a call of a reply that was cut")


CLAUSE = Clause(
    "truncated_executed",
    "A shortened command can be another valid command.",
    github("NousResearch/hermes-agent#7680"),
    _judge,
)
