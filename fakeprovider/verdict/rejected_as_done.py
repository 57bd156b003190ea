"""A call that was rejected is not reported as done."""

from __future__ import annotations

from fakeprovider.journal import Exchange
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
from fakeprovider.verdict.run import Pair, Run
from fakeprovider.verdict.unfit import says_not_run


def _judge(run: Run, facts: Facts) -> Finding:
    if facts.effects is None:
        return not_observable("decisions are not on the wire; this needs a ledger of effects")
    rejected = {one.call_id for one in facts.effects if one.decision == "rejected" and one.call_id}
    if not rejected:
        return not_applicable("the ledger has no rejected call")
    told = [pair for pair in run.pairs if pair.call.id in rejected]
    done = [pair for pair in told if facts.ran(pair.call.id)]
    if done:
        return failed("a rejected call was executed", _exchanges(done))
    silent = [pair for pair in told if not says_not_run(pair.result.excerpt)]
    if silent:
        return failed(
            f"the model was told {silent[0].result.excerpt!r} of a call that was rejected",
            _exchanges(silent),
        )
    if not told:
        return not_observable("no result of a rejected call was sent")
    return passed("the model was told of each rejection in words", _exchanges(told))


def _exchanges(pairs: list[Pair]) -> list[Exchange]:
    return [pair.exchange for pair in pairs]


CLAUSE = Clause(
    "rejected_as_done",
    "A model that is not told of a rejection claims the deed, or tries a way round it.",
    github("openai/openai-agents-python#3359"),
    _judge,
)
