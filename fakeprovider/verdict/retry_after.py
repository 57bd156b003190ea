"""A retry waits as long as the service asked for."""

from __future__ import annotations

from fakeprovider.journal import Exchange
from fakeprovider.verdict.clause import Clause, Finding, failed, github, not_applicable, passed
from fakeprovider.verdict.facts import Facts
from fakeprovider.verdict.run import Run, Step

_SLACK = 0.05
"""Seconds by which clocks and rounding may be off."""


def _judge(run: Run, facts: Facts) -> Finding:
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


CLAUSE = Clause(
    "retry_after",
    "Retry-After is a minimum; coming sooner earns another refusal, or a ban.",
    github("block/buzz#5557"),
    _judge,
)
