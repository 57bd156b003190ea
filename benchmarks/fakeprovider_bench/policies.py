"""Policies under which a scenario is run: when it stops, and who answers what it asks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from decimal import Decimal

from fakeprovider_harness import (
    Condition,
    MaxCost,
    MaxTokens,
    MaxTurns,
    RunState,
    Settings,
    UnsafeRejection,
    approve,
    reject,
)
from fakeprovider_harness.verify import Verifier
from fakeprovider_scenarios import Workspace

Decide = Callable[[RunState], None]
"""Answers every interruption of a run in place, as a person would."""


@dataclass(frozen=True)
class Policy:
    """How one row of a table is run.

    `stop` None is no limit; `system` is added to the system prompt; `decide` answers approvals
    (None leaves the run interrupted); `script` replaces the scenario's own; `verify` makes the
    check of a claim to be done, from the workspace.
    """

    name: str
    stop: Condition | None
    settings: Settings = field(default_factory=Settings)
    system: str = ""
    decide: Decide | None = None
    script: str | None = None
    verify: Callable[[Workspace], Verifier] | None = None


def caps(limits: Iterable[int]) -> list[Policy]:
    """One policy per turn cap."""
    return [Policy(f"cap {limit}", MaxTurns(limit)) for limit in limits]


def budgets(limits: Iterable[Decimal], cap: int | None = None) -> list[Policy]:
    """One policy per budget in USD, beside a turn cap if there is one."""
    return [Policy(f"budget ${limit}", _capped(MaxCost(limit), cap)) for limit in limits]


def token_limits(limits: Iterable[int], cap: int | None = None) -> list[Policy]:
    """One policy per limit on all tokens of a run, beside a turn cap if there is one."""
    return [Policy(f"tokens {limit:,}", _capped(MaxTokens(limit), cap)) for limit in limits]


def prompt_only(turns: int, cap: int) -> Policy:
    """The system prompt asks to stop after `turns` turns; only the cap in code is kept."""
    system = f" Stop after {turns} tool calls and answer with what you have."
    return Policy(f"prompt-only ({turns})", MaxTurns(cap), system=system)


def _capped(condition: Condition, cap: int | None) -> Condition:
    return condition if cap is None else condition | MaxTurns(cap)


def approve_all(state: RunState) -> None:
    """Approve every call that waits."""
    for waiting in state.interruptions:
        approve(state, waiting.call_id)


def reject_with_reason(state: RunState) -> None:
    """Reject every call that waits, and say why."""
    for waiting in state.interruptions:
        reject(state, waiting.call_id, "the user wants to keep this file")


def reject_with_nothing(state: RunState) -> None:
    """Reject with an empty text: the model is not told, and its report becomes a lie."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnsafeRejection)
        for waiting in state.interruptions:
            reject(state, waiting.call_id, rejection_text="")


class ApproveOnce:
    """Approve the first call of each tool and arguments, and reject its repetitions."""

    def __init__(self) -> None:
        self._seen: set[tuple[str, str]] = set()

    def __call__(self, state: RunState) -> None:
        for waiting in state.interruptions:
            key = (waiting.tool, str(sorted(waiting.args.items())))
            if key in self._seen:
                reject(state, waiting.call_id, "this was approved and done before")
            else:
                self._seen.add(key)
                approve(state, waiting.call_id)
