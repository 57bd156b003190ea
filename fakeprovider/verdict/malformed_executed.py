"""Calls whose arguments are no JSON object are not run."""

from __future__ import annotations

from fakeprovider.journal import Called, Exchange
from fakeprovider.verdict.clause import Clause, Finding, github, not_applicable
from fakeprovider.verdict.facts import Facts
from fakeprovider.verdict.run import Run
from fakeprovider.verdict.unfit import became, only_unfit


def _malformed(exchange: Exchange, call: Called) -> bool:
    return not call.valid


def _judge(run: Run, facts: Facts) -> Finding:
    calls = [
        (exchange, call)
        for exchange, call in only_unfit(run, _malformed)
        if not exchange.broken and exchange.finish != "length"
    ]
    if not calls:
        return not_applicable("no call was malformed")
    return became(run, facts, calls, "a malformed call")


CLAUSE = Clause(
    "malformed_executed",
    "Arguments that cannot be read are a question for the model, never an empty object to run.",
    github("openai/openai-agents-python#3459"),
    _judge,
)
