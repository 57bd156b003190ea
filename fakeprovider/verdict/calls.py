"""Calls that must not be run, and what became of them: shared by two clauses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from fakeprovider.journal import Called, Exchange
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
from fakeprovider.verdict.run import Run

Unfit = tuple[Exchange, Called]

_WORDS = (
    r"not\s+(?:been\s+)?(?:run|executed|called|started|performed|applied|valid)",
    r"n't\s+(?:run|execute|parse)",
    r"truncat|cut\s+(?:off|short)|incomplete",
    r"malformed|invalid|unpars|could\s+not\s+be\s+(?:read|parsed)",
    r"reject|denied|declin|refus|skipp|cancel|abort",
)
_NOT_RUN = re.compile("|".join(_WORDS), re.IGNORECASE)


def says_not_run(text: str) -> bool:
    """Whether a result says in words that its call was not run."""
    return _NOT_RUN.search(text) is not None


def only_unfit(run: Run, unfit: Callable[[Exchange, Called], bool]) -> list[Unfit]:
    """Calls that came in no other form than one that must not be run."""
    calls = [(exchange, call) for exchange in run.loop for call in exchange.calls]
    fit = {call.id for exchange, call in calls if not unfit(exchange, call)}
    return [(exchange, call) for exchange, call in calls if call.id not in fit]


def became(run: Run, facts: Facts, calls: Iterable[Unfit], what: str) -> Finding:
    """What became of calls that should not have been run."""
    calls = list(calls)
    shown = [exchange for exchange, _ in calls]
    if facts.effects is not None:
        ran = [exchange for exchange, call in calls if facts.ran(call.id)]
        if ran:
            return failed(f"{what} was executed, says the ledger of effects", ran)
        if all(effect.call_id for effect in facts.done):
            return passed(f"{what} was not executed, says the ledger of effects", shown)
    unclear = [
        pair.exchange
        for exchange, call in calls
        for pair in run.results_of(call.id, exchange)
        if not (pair.result.is_error or says_not_run(pair.result.excerpt))
    ]
    if unclear:
        return not_observable(
            f"{what} was answered with a result; whether it ran only a ledger of effects (with "
            "call ids) can tell",
            unclear,
        )
    return passed(f"{what} was dropped, or answered in words", shown)


def _malformed(exchange: Exchange, call: Called) -> bool:
    return not call.valid


def _judge_malformed_executed(run: Run, facts: Facts) -> Finding:
    calls = [
        (exchange, call)
        for exchange, call in only_unfit(run, _malformed)
        if not exchange.broken and exchange.finish != "length"
    ]
    if not calls:
        return not_applicable("no call was malformed")
    return became(run, facts, calls, "a malformed call")


MALFORMED_EXECUTED = Clause(
    "malformed_executed",
    "Arguments that cannot be read are a question for the model, never an empty object to run.",
    github("openai/openai-agents-python#3459"),
    _judge_malformed_executed,
)


def _cut(exchange: Exchange, call: Called) -> bool:
    return exchange.finish == "length" or exchange.broken


def _judge_truncated_executed(run: Run, facts: Facts) -> Finding:
    calls = only_unfit(run, _cut)
    if not calls:
        return not_applicable("no reply with calls was cut")
    return became(run, facts, calls, "a call of a reply that was cut")


TRUNCATED_EXECUTED = Clause(
    "truncated_executed",
    "A shortened command can be another valid command.",
    github("NousResearch/hermes-agent#7680"),
    _judge_truncated_executed,
)
