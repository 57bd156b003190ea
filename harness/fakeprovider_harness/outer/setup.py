"""What all runs of an outer loop share, how one is run, and the prompt of a loop without one."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from fakeprovider_harness.budget.charging import Pricing
from fakeprovider_harness.cancel import Cancel
from fakeprovider_harness.clock import Clock, SystemClock
from fakeprovider_harness.context.policy import ContextPolicy
from fakeprovider_harness.loop import arun
from fakeprovider_harness.models.base import Model
from fakeprovider_harness.outcomes import Status, StopKind
from fakeprovider_harness.outer.plan_file import read_text
from fakeprovider_harness.outer.report import OuterKind, OuterStop
from fakeprovider_harness.settings import Settings
from fakeprovider_harness.state import NoStore, RunState, Storage
from fakeprovider_harness.stop import AllOf, AnyOf, Condition, Limit
from fakeprovider_harness.tools import Tool
from fakeprovider_harness.trace import Trace, no_trace
from fakeprovider_harness.verify.verifier import Verifier

NAME = "loop.md"
MAINTENANCE = (
    "Go on with unfinished work of this conversation, if there is any. Else look after the "
    "branch's pull request: new review comments, failing checks, conflicts. Else clean up: look "
    "for one small fault or one thing that can be simplified, and propose it. Start nothing new, "
    "and change nothing that cannot be undone without asking. If there is nothing to do, say so."
)


def loop_prompt(
    project: str | Path, environment: Mapping[str, str] | None = None
) -> tuple[str, str]:
    """The prompt of a loop without one, and where it is from.

    The project's `loop.md`, else the user's (`$XDG_CONFIG_HOME/harness/loop.md`, by default under
    `~/.config`), else one for maintenance that is built in. An empty file counts as none. Raises
    `ValueError` for a file that is no text.
    """
    environ = os.environ if environment is None else environment
    home = Path(environ.get("HOME", "~")).expanduser()
    config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    for place in (Path(project) / NAME, config / "harness" / NAME):
        if place.is_file() and (text := read_text(place).strip()):
            return text, str(place)
    return MAINTENANCE, "built in"


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
    evidence = state.stop.evidence
    quota = evidence.get("code") == "insufficient_quota"
    if state.stop.kind is StopKind.PROVIDER_ERROR and (
        quota or evidence.get("status") in UNREACHABLE
    ):
        return OuterStop(OuterKind.NEEDS_PERSON, evidence=evidence)
    return None
