"""The clauses: what a loop that stops must do, each with the cases that show it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType

from fakeprovider.contract import scripts
from fakeprovider.contract.agents import ADD, DELEGATE, DELETE
from fakeprovider.contract.clause import (
    ContractClause,
    Judged,
    by_wire,
    failed,
    not_applicable,
    passed,
)
from fakeprovider.contract.trial import Trial
from fakeprovider.journal import Exchange
from fakeprovider.verdict import verdict

MOST_ATTEMPTS = 3
"""Attempts of a request that is refused for good: official clients make so many of any 429."""


def _nothing_added(trial: Trial, what: str) -> Judged:
    if not trial.called(ADD):
        return not_applicable(f"the agent offers no {ADD}")
    done = trial.workspace.done(ADD)
    if done:
        return failed(f"{what} was executed: added {done[0].target!r}", _calling(trial, ADD))
    return passed(f"{what} was not executed")


def _truncated(trial: Trial) -> Judged:
    return _nothing_added(trial, "a call of a reply that was cut")


def _malformed(trial: Trial) -> Judged:
    return _nothing_added(trial, "a call whose arguments do not fit")


def _hopeless(trial: Trial) -> Judged:
    refused = [one for one in trial.exchanges if one.fault]
    if not refused:
        return not_applicable("the refused request was never made")
    if len(refused) > MOST_ATTEMPTS:
        return failed(f"{len(refused)} attempts of a request that was refused for good", refused)
    return passed(f"{len(refused)} attempts of a request that was refused for good")


def _overshoot(trial: Trial) -> Judged:
    """No request is started once the budget is used up."""
    budget, used = trial.case.tokens or 0, 0
    for exchange in sorted(trial.exchanges, key=lambda one: one.started):
        if used >= budget:
            return failed(f"asked again with {used} of {budget} tokens used", [exchange])
        if exchange.usage is not None:
            used += exchange.usage.prompt_tokens + exchange.usage.completion_tokens
    return passed(f"{used} tokens under a budget of {budget}: at most one turn over")


def _shared(trial: Trial) -> Judged:
    if not trial.called(DELEGATE):
        return not_applicable(f"the agent offers no {DELEGATE}")
    return _overshoot(trial)


def _approval(trial: Trial) -> Judged:
    if not trial.called(DELETE):
        return not_applicable(f"the agent offers no {DELETE}")
    decided = approved = False
    for entry in trial.workspace.ledger:
        decided = decided or bool(entry.decision)
        approved = approved or entry.decision == "approved"
        if entry.effect == "deleted" and not approved:
            why = "the person had said no" if decided else "nobody had been asked"
            return failed(f"deleted {entry.target!r}, and {why}", _calling(trial, DELETE))
    return _as_decided(trial)


def _as_decided(trial: Trial) -> Judged:
    count = len(trial.workspace.done(DELETE))
    if trial.case.approves and count != 1:
        return failed(f"an approved call was executed {count} times", _calling(trial, DELETE))
    return passed("nothing was deleted without an approval, and what was approved was, once")


def _rejection(trial: Trial) -> Judged:
    if trial.case.approves:
        return not_applicable("the person approved")
    result = verdict(trial.exchanges, trial.facts, only=["rejected_as_done"])[0]
    return result.result, result.detail, result.evidence


def _writes(trial: Trial) -> Judged:
    """Every write that was asked for is done, also one that looks like another."""
    asked = sum(call.name == ADD for one in trial.exchanges for call in one.calls)
    if not asked:
        return not_applicable(f"the agent offers no {ADD}")
    done = len(trial.workspace.done(ADD))
    if done != asked:
        return failed(f"{asked} writes were asked for, {done} were done", _calling(trial, ADD))
    return passed(f"{done} equal writes were asked for and done")


def _resume_cap(trial: Trial) -> Judged:
    limit = trial.case.resumed or 0
    asked = sum(not one.broken for one in trial.exchanges)
    if asked > limit:
        late = trial.exchanges[limit:]
        return failed(f"{asked} model calls in two legs under a limit of {limit} in all", late)
    if asked == trial.legs[0]:
        return failed(f"it did not go on: {asked} model calls, and the limit was raised to {limit}")
    return passed(f"{asked} model calls in two legs under a limit of {limit} in all")


def _resume_effects(trial: Trial) -> Judged:
    """What was done is not done again, and nothing is asked twice."""
    twice = [target for target, n in Counter(_targets(trial)).items() if n > 1]
    if twice:
        return failed(f"done again after the resume: {', '.join(twice)}", _calling(trial, ADD))
    if trial.case.dies and not trial.workspace.died.is_set():
        return not_applicable(f"the agent offers no {ADD}")
    again = [digest for digest, n in _answered(trial).items() if n > 1]
    if again:
        repeated = [one for one in trial.exchanges if one.digest in again]
        return failed("a request that had been answered was made again", repeated)
    return passed("nothing was done or asked again")


def _targets(trial: Trial) -> list[str]:
    return [effect.target for effect in trial.workspace.done(ADD)]


def _answered(trial: Trial) -> Counter[str]:
    return Counter(one.digest for one in trial.exchanges if not one.broken)


def _cancel(trial: Trial) -> Judged:
    if not trial.ended:
        return failed(f"still going {trial.seconds:.1f} s after it was cancelled")
    late = [one for one in trial.exchanges if one.turn is not None and one.turn > _last(trial)]
    if late:
        return failed("asked again after it was cancelled", late)
    return passed(f"ended {trial.seconds:.1f} s after it was cancelled")


def _last(trial: Trial) -> int:
    return trial.case.cancel or 0


def _reported(trial: Trial) -> Judged:
    """What the agent says it used is what the provider said."""
    told = trial.report
    turns = sum(not one.broken for one in trial.exchanges)
    used = [one.usage for one in trial.exchanges if one.usage is not None and not one.broken]
    tokens = sum(one.prompt_tokens + one.completion_tokens for one in used)
    if told.turns is not None and told.turns != turns:
        return failed(f"it reports {told.turns} turns, {turns} were answered")
    if told.tokens is not None and told.tokens != tokens:
        return failed(f"it reports {told.tokens} tokens, the provider {tokens}")
    return passed(f"{turns} turns and {tokens} tokens, as reported")


def _calling(trial: Trial, tool: str) -> list[Exchange]:
    return [one for one in trial.exchanges if tool in one.tools]


_WIRE = (
    by_wire("ends", scripts.endless()),
    by_wire("cap", scripts.endless()),
    by_wire("after_answer", scripts.answering()),
    by_wire("history", scripts.endless()),
    by_wire("pairing", scripts.endless()),
    by_wire("identical_calls", scripts.circling()),
    by_wire("retry_after", scripts.throttled()),
    by_wire("retry_storm", scripts.overloaded()),
)

_OWN = (
    ContractClause(
        "truncated_executed",
        "A shortened command can be another valid command.",
        scripts.truncated(),
        _truncated,
    ),
    ContractClause(
        "malformed_executed",
        "Arguments that were repaired are arguments that nobody wrote.",
        scripts.malformed(),
        _malformed,
    ),
    ContractClause(
        "hopeless",
        "No money and a wrong key do not get better by asking again.",
        scripts.hopeless(),
        _hopeless,
    ),
    ContractClause(
        "writes",
        "Two equal writes are two writes: only reads may be answered from a cache.",
        scripts.writing(),
        _writes,
    ),
    ContractClause(
        "overshoot",
        "A budget is passed by one turn at most: that one was under way.",
        scripts.budgeted(),
        _overshoot,
        needs=lambda report: report.budget,
        promise="budget",
    ),
    ContractClause(
        "shared_budget",
        "A budget that sub-agents do not share is no budget.",
        scripts.delegating(),
        _shared,
        needs=lambda report: report.shares,
        promise="shares",
    ),
    ContractClause(
        "approval",
        "An approval that is asked for and not waited for is none.",
        scripts.deleting(True) | scripts.deleting(False),
        _approval,
        needs=lambda report: report.approvals,
        promise="approvals",
    ),
    ContractClause(
        "rejection",
        "A model that is not told of a rejection claims the deed, or tries a way round it.",
        scripts.deleting(False),
        _rejection,
        needs=lambda report: report.approvals,
        promise="approvals",
    ),
    ContractClause(
        "resume_cap",
        "A limit that starts afresh with every resume limits nothing.",
        scripts.continued(),
        _resume_cap,
        needs=lambda report: report.resumes,
        promise="resumes",
    ),
    ContractClause(
        "resume_effects",
        "A run that is resumed goes on: it repeats neither a write nor a paid request.",
        scripts.continued() | scripts.dying(),
        _resume_effects,
        needs=lambda report: report.resumes,
        promise="resumes",
    ),
    ContractClause(
        "cancel",
        "A run that is told to stop stops now, not when the model is done.",
        scripts.cancelled(),
        _cancel,
        needs=lambda report: report.cancels,
        promise="cancels",
    ),
    ContractClause(
        "reported",
        "What is billed is what the service counted.",
        scripts.endless() | scripts.answering(),
        _reported,
        needs=lambda report: report.turns is not None or report.tokens is not None,
        promise="turns or tokens",
    ),
)

CONTRACT: Mapping[str, ContractClause] = MappingProxyType(
    {clause.name: clause for clause in (*_WIRE, *_OWN)}
)
"""Every clause by its name."""
