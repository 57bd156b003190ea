"""How the runs of an outer loop are run: the arguments of `arun`, and who is asked and told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from harness.cancel import Cancel
from harness.charging import Pricing
from harness.clock import Clock, SystemClock
from harness.context.policy import ContextPolicy
from harness.loop import arun
from harness.models.base import Model
from harness.outer.report import OuterKind, OuterStop
from harness.settings import Settings
from harness.state import RunState
from harness.stop import AllOf, AnyOf, Condition, Limit
from harness.storage import NoStore, Storage
from harness.tools import Tool
from harness.trace import Trace, no_trace
from harness.verify.verifier import Verifier
from harness.ways_out import Status, StopKind

UNREACHABLE = (401, 402, 403, 404)
"""HTTP statuses of a provider that no waiting mends: a person has to look."""


def silent(words: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What all runs of an outer loop share.

    `stop` limits each single run, or each round of one that goes on. `decide` answers the calls
    that wait for a person and returns whether the run may go on; without it such a run stops the
    loop. `say` is told, in words, what a person should know while it goes on.
    """

    model: Model
    tools: Sequence[Tool] = ()
    stop: Condition | None = None
    price: Pricing = None
    settings: Settings = field(default_factory=Settings)
    trace: Trace = no_trace
    store: Storage = field(default_factory=NoStore)
    cancel: Cancel = field(default_factory=Cancel)
    clock: Clock = field(default_factory=SystemClock)
    context: ContextPolicy | None = None
    verify: Verifier | None = None
    on_text: Callable[[str], None] | None = None
    decide: Callable[[RunState], bool] | None = None
    say: Callable[[str], None] = silent

    async def run(
        self, state: RunState, room: Condition | None, tools: Sequence[Tool] = ()
    ) -> None:
        """Run to the next stop that nobody present can decide; `room` is what the caps leave."""
        own = None if self.stop is None else from_here(self.stop, state, self.clock.time())
        while True:
            await arun(
                state,
                model=self.model,
                tools=[*self.tools, *tools],
                stop=_both(own, room),
                price=self.price,
                trace=self.trace,
                store=self.store,
                cancel=self.cancel,
                settings=self.settings,
                clock=self.clock,
                on_text=self.on_text,
                verify=self.verify,
                context=self.context,
            )
            if not state.interruptions or self.decide is None or self.cancel.cancelled:
                return
            if not self.decide(state):
                return


def _both(one: Condition | None, other: Condition | None) -> Condition | None:
    if one is None or other is None:
        return one or other if one is None else one
    return one | other


COUNTED = frozenset(
    {
        StopKind.MAX_TURNS,
        StopKind.MAX_TOOL_CALLS,
        StopKind.MAX_TOKENS,
        StopKind.MAX_INPUT_TOKENS,
        StopKind.MAX_OUTPUT_TOKENS,
        StopKind.MAX_COST,
        StopKind.DEADLINE,
        StopKind.ACTIVE_TIME,
    }
)
"""Limits that count from the start of a run."""


def from_here(condition: Condition, state: RunState, now: float) -> Condition:
    """The condition with its limits counted from here on: what was used before is added to them.

    `now` is in seconds since the epoch.
    """
    if isinstance(condition, AnyOf | AllOf):
        return type(condition)(tuple(from_here(part, state, now) for part in condition.parts))
    if not isinstance(condition, Limit) or condition.limit is None or condition.kind not in COUNTED:
        return condition
    used = condition.measure(state)
    if condition.kind is StopKind.DEADLINE and state.legs:
        used = now - state.times.started
    return replace(condition, limit=condition.limit + used)


def failed(state: RunState) -> bool:
    """Whether a run ended because it could not go on, not because it was done or at a limit."""
    kind = None if state.stop is None else state.stop.kind
    return state.status is Status.FAILED or kind in (
        StopKind.RATE_LIMITED,
        StopKind.PROVIDER_UNAVAILABLE,
    )


def needs_person(state: RunState) -> OuterStop | None:
    """The stop where only a person can help: a decision, a key, a bill."""
    if state.stop is None:
        return None
    if state.interruptions:
        waiting = [f"{wait.tool} {wait.call_id}" for wait in state.interruptions]
        return OuterStop(OuterKind.NEEDS_PERSON, evidence={"reason": ", ".join(waiting)})
    found = state.stop.evidence
    quota = found.get("code") == "insufficient_quota"
    if state.stop.kind is StopKind.PROVIDER_ERROR and (quota or found.get("status") in UNREACHABLE):
        return OuterStop(OuterKind.NEEDS_PERSON, evidence=found)
    return None
