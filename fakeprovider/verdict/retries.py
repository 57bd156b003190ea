"""A retry waits as long as the service asked for."""

from __future__ import annotations

from itertools import pairwise

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
from fakeprovider.verdict.run import Run, Step

_SLACK = 0.05
"""Seconds by which clocks and rounding may be off."""


def _judge_retry_after(run: Run, facts: Facts) -> Finding:
    told = [one for step in run.steps for one in step.attempts if one.retry_after is not None]
    if not told:
        return not_applicable("the service named no wait")
    early = [found for step in run.steps for found in _early(step)]
    if early:
        waited, asked, _ = early[0]
        return failed(
            f"retried after {waited:.2f} s where {asked:g} s were asked for",
            [exchange for _, _, exchange in early],
        )
    return passed("no retry came before its time", told)


def _early(step: Step) -> list[tuple[float, float, Exchange]]:
    """Gap, wait asked for and the exchange, of retries that came too soon."""
    return [
        (gap, earlier.retry_after, later)
        for gap, earlier, later in zip(step.gaps, step.attempts, step.attempts[1:], strict=False)
        if earlier.retry_after is not None and gap < earlier.retry_after * 0.95 - _SLACK
    ]


RETRY_AFTER = Clause(
    "retry_after",
    "Retry-After is a minimum; coming sooner earns another refusal, or a ban.",
    github("block/buzz#5557"),
    _judge_retry_after,
)


MOST = 10
"""Attempts of one request; official clients make 3, Codex 6, Claude Code 7 and more."""

AT_ONCE = 0.1
"""Seconds; the shortest wait of an official client is 0.4."""

IN_A_ROW = 3
"""Retries at once that make a storm: one may be a connection that was found dead."""


def _judge_retry_storm(run: Run, facts: Facts) -> Finding:
    retried = [step for step in run.steps if len(step.attempts) > 1]
    if not retried:
        return not_applicable("nothing was retried")
    for step in retried:
        if len(step.attempts) > MOST:
            return failed(f"{len(step.attempts)} attempts of one request", step.attempts)
        if _hasty(step):
            return failed(f"{IN_A_ROW} retries in a row without a wait", step.attempts)
    most = max(len(step.attempts) for step in retried)
    return passed(f"at most {most} attempts, with waits", [step.last for step in retried])


def _hasty(step: Step) -> bool:
    gaps = step.gaps
    return any(max(gaps[at : at + IN_A_ROW]) < AT_ONCE for at in range(len(gaps) - IN_A_ROW + 1))


RETRY_STORM = Clause(
    "retry_storm",
    "Retries without a wait keep an overloaded service down, and cost on every attempt.",
    github("block/buzz#5557"),
    _judge_retry_storm,
)


def _judge_stacked_retries(run: Run, facts: Facts) -> Finding:
    retried = [step for step in run.steps if len(step.attempts) > 1]
    if not retried:
        return not_applicable("nothing was retried")
    for step in retried:
        counts = _counts(step)
        if any(later < earlier for earlier, later in pairwise(counts)):
            told = ", ".join(map(str, counts))
            return failed(f"the client's own retry count starts again: {told}", step.attempts)
    lasts = [step.last for step in retried]
    if not any(_counts(step) for step in retried):
        return not_observable("this client sends no retry count", lasts)
    return passed("the client's own retry count never starts again", lasts)


def _counts(step: Step) -> list[int]:
    return [one.retry_count for one in step.attempts if one.retry_count is not None]


STACKED_RETRIES = Clause(
    "stacked_retries",
    "An application that retries what its SDK already retries multiplies the attempts.",
    github("earendil-works/pi#4991"),
    _judge_stacked_retries,
)
