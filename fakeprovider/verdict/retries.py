"""Clauses on retries: they wait as long as they were told to, and come to an end."""

from __future__ import annotations

from itertools import pairwise

from fakeprovider.journal import Exchange
from fakeprovider.verdict.clause import (
    Judgement,
    clause,
    failed,
    not_applicable,
    not_observable,
    passed,
)
from fakeprovider.verdict.run import Run, Step

_SLACK = 0.05
"""Seconds by which clocks and rounding may be off."""


@clause(
    "retry_after",
    why="Retry-After is a minimum; coming sooner earns another refusal, or a ban.",
    source="block/buzz#5557",
)
def retry_after(run: Run) -> Judgement:
    attempts = (attempt for step in run.steps for attempt in step.attempts)
    delayed = [attempt for attempt in attempts if attempt.retry_after is not None]
    if not delayed:
        return not_applicable("the service named no wait")
    early = [retry for step in run.steps for retry in _early(step)]
    if early:
        waited, wanted, _ = early[0]
        return failed(
            f"retried after {waited:.2f} s where {wanted:g} s were asked for",
            [exchange for _, _, exchange in early],
        )
    return passed("no retry came before its time", delayed)


def _early(step: Step) -> list[tuple[float, float, Exchange]]:
    """Gap, wait asked for and the exchange, of retries that came too soon."""
    return [
        (gap, earlier.retry_after, later)
        for gap, earlier, later in zip(step.gaps, step.attempts, step.attempts[1:], strict=False)
        if earlier.retry_after is not None and gap < earlier.retry_after * 0.95 - _SLACK
    ]


MOST_ATTEMPTS = 10
"""Attempts of one request; official clients make 3, Codex 6, Claude Code 7 and more."""

AT_ONCE = 0.1
"""Seconds; the shortest wait of an official client is 0.4."""

IN_A_ROW = 3
"""Retries at once that make a storm: one may be a connection that was found dead."""


@clause(
    "retry_storm",
    why="Retries without a wait keep an overloaded service down, and cost on every attempt.",
    source="block/buzz#5557",
)
def retry_storm(run: Run) -> Judgement:
    retried = [step for step in run.steps if len(step.attempts) > 1]
    if not retried:
        return not_applicable("nothing was retried")
    for step in retried:
        if len(step.attempts) > MOST_ATTEMPTS:
            return failed(f"{len(step.attempts)} attempts of one request", step.attempts)
        if _hasty(step):
            return failed(f"{IN_A_ROW} retries in a row without a wait", step.attempts)
    most = max(len(step.attempts) for step in retried)
    return passed(f"at most {most} attempts, with waits", [step.last for step in retried])


def _hasty(step: Step) -> bool:
    """Whether so many retries in a row came at once."""
    gaps = step.gaps
    return any(max(gaps[at : at + IN_A_ROW]) < AT_ONCE for at in range(len(gaps) - IN_A_ROW + 1))


@clause(
    "stacked_retries",
    why="An application that retries what its SDK already retries multiplies the attempts.",
    source="earendil-works/pi#4991",
)
def stacked_retries(run: Run) -> Judgement:
    retried = [step for step in run.steps if len(step.attempts) > 1]
    if not retried:
        return not_applicable("nothing was retried")
    for step in retried:
        counts = _counts(step)
        if any(later < earlier for earlier, later in pairwise(counts)):
            shown = ", ".join(map(str, counts))
            return failed(f"the client's own retry count starts again: {shown}", step.attempts)
    lasts = [step.last for step in retried]
    if not any(_counts(step) for step in retried):
        return not_observable("this client sends no retry count", lasts)
    return passed("the client's own retry count never starts again", lasts)


def _counts(step: Step) -> list[int]:
    """What the client says of how often it has retried, attempt by attempt."""
    return [a.retry_count for a in step.attempts if a.retry_count is not None]
