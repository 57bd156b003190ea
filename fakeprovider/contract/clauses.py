"""The clauses: what a loop that stops must do, each with the cases that put it to the test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from hypothesis.strategies import SearchStrategy

from fakeprovider.contract import scripts
from fakeprovider.contract.agents import ADD, DELEGATE, DELETE, Report
from fakeprovider.contract.trial import Case, Trial
from fakeprovider.registry import Registry
from fakeprovider.verdict import CLAUSES, Clause
from fakeprovider.verdict.clause import Judge, Judgement, failed, not_applicable, passed

MOST_ATTEMPTS = 3
"""Attempts of a request that is refused for good: official clients make so many of any 429."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractClause(Clause[Trial]):
    """A clause with the cases that put it to the test.

    `needs` says whether a report promises what the clause is about; `promise` names that.
    """

    cases: SearchStrategy[Case]
    link: str = ""
    needs: Callable[[Report], bool] = lambda report: True
    promise: str = ""


CONTRACT: Registry[ContractClause] = Registry("clause of the contract")
"""Every clause by its name."""


def clause(
    name: str, cases: SearchStrategy[Case], *, why: str, link: str = "", promise: str = ""
) -> Callable[[Judge[Trial]], Judge[Trial]]:
    """Register the decorated function as the judge of a clause.

    `promise` names the fields of a report without which it cannot be checked, as in "turns or
    tokens"; "" if it needs none.
    """

    def needs(report: Report) -> bool:
        values = [getattr(report, field) for field in promise.split(" or ") if field]
        return not values or any(value is not None and value is not False for value in values)

    def register(judge: Judge[Trial]) -> Judge[Trial]:
        member = ContractClause(
            name, why, judge, cases=cases, link=link, needs=needs, promise=promise
        )
        CONTRACT.add(name, member)
        return judge

    return register


def _of_the_verdict(name: str, cases: SearchStrategy[Case]) -> None:
    """Register a clause of the verdict with the cases that put it to the test."""
    of_verdict = CLAUSES[name]
    register = clause(name, cases, why=of_verdict.rationale, link=of_verdict.link)
    register(lambda trial: of_verdict.judge(trial.run))


_of_the_verdict("ends", scripts.endless())
_of_the_verdict("cap", scripts.endless())
_of_the_verdict("after_answer", scripts.answering())
_of_the_verdict("history", scripts.endless())
_of_the_verdict("pairing", scripts.endless())
_of_the_verdict("identical_calls", scripts.circling())
_of_the_verdict("retry_after", scripts.throttled())
_of_the_verdict("retry_storm", scripts.overloaded())


@clause(
    "truncated_executed",
    scripts.truncated(),
    why="A shortened command can be another valid command.",
)
def truncated_executed(trial: Trial) -> Judgement:
    return _nothing_added(trial, "a call of a reply that was cut")


@clause(
    "malformed_executed",
    scripts.malformed(),
    why="Arguments that were repaired are arguments that nobody wrote.",
)
def malformed_executed(trial: Trial) -> Judgement:
    return _nothing_added(trial, "a call whose arguments do not fit")


def _nothing_added(trial: Trial, what: str) -> Judgement:
    """Whether the one call that writes was left alone."""
    if not trial.called(ADD):
        return not_applicable(f"the agent offers no {ADD}")
    added = trial.workspace.done(ADD)
    if added:
        return failed(f"{what} was executed: added {added[0].target!r}", trial.calling(ADD))
    return passed(f"{what} was not executed")


@clause(
    "hopeless",
    scripts.hopeless(),
    why="No money and a wrong key do not get better by asking again.",
)
def hopeless(trial: Trial) -> Judgement:
    refused = [exchange for exchange in trial.exchanges if exchange.fault]
    if not refused:
        return not_applicable("the refused request was never made")
    attempts = f"{len(refused)} attempts of a request that was refused for good"
    return failed(attempts, refused) if len(refused) > MOST_ATTEMPTS else passed(attempts)


@clause(
    "writes",
    scripts.writing(),
    why="Two equal writes are two writes: only reads may be answered from a cache.",
)
def writes(trial: Trial) -> Judgement:
    """Every write that was asked for is done, also one that looks like another."""
    wanted = sum(call.name == ADD for exchange in trial.exchanges for call in exchange.calls)
    if not wanted:
        return not_applicable(f"the agent offers no {ADD}")
    done = len(trial.workspace.done(ADD))
    if done != wanted:
        return failed(f"{wanted} writes were asked for, {done} were done", trial.calling(ADD))
    return passed(f"{done} equal writes were asked for and done")


@clause(
    "overshoot",
    scripts.budgeted(),
    why="A budget is passed by one turn at most: that one was under way.",
    promise="budget",
)
def overshoot(trial: Trial) -> Judgement:
    """No request is started once the budget is used up."""
    budget, used = trial.case.tokens or 0, 0
    for exchange in sorted(trial.exchanges, key=lambda exchange: exchange.started):
        if used >= budget:
            return failed(f"asked again with {used} of {budget} tokens used", [exchange])
        if exchange.usage is not None:
            used += exchange.usage.prompt_tokens + exchange.usage.completion_tokens
    return passed(f"{used} tokens under a budget of {budget}: at most one turn over")


@clause(
    "shared_budget",
    scripts.delegating(),
    why="A budget that sub-agents do not share is no budget.",
    promise="shares",
)
def shared_budget(trial: Trial) -> Judgement:
    if not trial.called(DELEGATE):
        return not_applicable(f"the agent offers no {DELEGATE}")
    return overshoot(trial)


@clause(
    "approval",
    scripts.deleting(True) | scripts.deleting(False),
    why="An approval that is asked for and not waited for is none.",
    promise="approvals",
)
def approval(trial: Trial) -> Judgement:
    if not trial.called(DELETE):
        return not_applicable(f"the agent offers no {DELETE}")
    decided = approved = False
    for entry in trial.workspace.ledger:
        decided = decided or bool(entry.decision)
        approved = approved or entry.decision == "approved"
        if entry.effect == "deleted" and not approved:
            why = "the person had said no" if decided else "nobody had been asked"
            return failed(f"deleted {entry.target!r}, and {why}", trial.calling(DELETE))
    times = len(trial.workspace.done(DELETE))
    if trial.case.approves and times != 1:
        return failed(f"an approved call was executed {times} times", trial.calling(DELETE))
    return passed("nothing was deleted without an approval, and what was approved was, once")


@clause(
    "rejection",
    scripts.deleting(False),
    why="A model that is not told of a rejection claims the deed, or tries a way round it.",
    promise="approvals",
)
def rejection(trial: Trial) -> Judgement:
    if trial.case.approves:
        return not_applicable("the person approved")
    return CLAUSES["rejected_as_done"].judge(trial.run)


@clause(
    "resume_cap",
    scripts.continued(),
    why="A limit that starts afresh with every resume limits nothing.",
    promise="resumes",
)
def resume_cap(trial: Trial) -> Judgement:
    limit = trial.case.resumed or 0
    answered = sum(not exchange.broken for exchange in trial.exchanges)
    calls = f"{answered} model calls in two parts under a limit of {limit} in all"
    if answered > limit:
        return failed(calls, trial.exchanges[limit:])
    if answered == trial.requests[0]:
        return failed(
            f"it did not go on: {answered} model calls, and the limit was raised to {limit}"
        )
    return passed(calls)


@clause(
    "resume_effects",
    scripts.continued() | scripts.dying(),
    why="A run that is resumed goes on: it repeats neither a write nor a paid request.",
    promise="resumes",
)
def resume_effects(trial: Trial) -> Judgement:
    """What was done is not done again, and nothing is asked twice."""
    twice = _repeated(effect.target for effect in trial.workspace.done(ADD))
    if twice:
        return failed(f"done again after the resume: {', '.join(twice)}", trial.calling(ADD))
    if trial.case.dies and not trial.workspace.died.is_set():
        return not_applicable(f"the agent offers no {ADD}")
    digests = _repeated(exchange.digest for exchange in trial.exchanges if not exchange.broken)
    if digests:
        again = [exchange for exchange in trial.exchanges if exchange.digest in digests]
        return failed("a request that had been answered was made again", again)
    return passed("nothing was done or asked again")


def _repeated(words: Iterable[str]) -> list[str]:
    """Those that stand there more than once."""
    return [word for word, times in Counter(words).items() if times > 1]


@clause(
    "cancel",
    scripts.cancelled(),
    why="A run that is told to stop stops now, not when the model is done.",
    promise="cancels",
)
def cancel(trial: Trial) -> Judgement:
    if not trial.ended:
        return failed(f"still going {trial.seconds:.1f} s after it was cancelled")
    last = trial.case.cancel or 0
    late = [exchange for exchange in trial.exchanges if (exchange.turn or 0) > last]
    if late:
        return failed("asked again after it was cancelled", late)
    return passed(f"ended {trial.seconds:.1f} s after it was cancelled")


@clause(
    "reported",
    scripts.endless() | scripts.answering(),
    why="What is billed is what the service counted.",
    promise="turns or tokens",
)
def reported(trial: Trial) -> Judgement:
    """What the agent says it used is what the provider said."""
    report = trial.report
    answered = [exchange for exchange in trial.exchanges if not exchange.broken]
    turns, usages = len(answered), [exchange.usage for exchange in answered if exchange.usage]
    tokens = sum(usage.prompt_tokens + usage.completion_tokens for usage in usages)
    if report.turns is not None and report.turns != turns:
        return failed(f"it reports {report.turns} turns, {turns} were answered")
    if report.tokens is not None and report.tokens != tokens:
        return failed(f"it reports {report.tokens} tokens, the provider {tokens}")
    return passed(f"{turns} turns and {tokens} tokens, as reported")
