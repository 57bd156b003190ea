"""Limits on what a run does and on the time it takes."""

from __future__ import annotations

from dataclasses import dataclass

from fakeprovider_harness.conditions.registry import Trial, stop_condition
from fakeprovider_harness.outcomes import StopKind
from fakeprovider_harness.state import RunState
from fakeprovider_harness.stop import Limit

__all__ = ["ActiveTime", "ContextWindow", "Deadline"]


@stop_condition(
    catches="a context that nears the model's window",
    weakness="does not see what tools have added since the last reply",
    example="ContextWindow(100_000)",
    arguments=lambda st: {"limit": st.integers(0, 20_000)},
    trials=(Trial("ContextWindow(16_000)", "overflow", "long"),),
)
@dataclass(frozen=True, repr=False)
class ContextWindow(Limit):
    """Stop once the context has `limit` tokens: the last prompt and its reply, as reported.

    What tools have added since is not in it: only the provider can count that. So choose a limit
    with room for one turn below the model's window; a prompt that is refused as too long leads to
    the same stop.
    """

    limit: int | None
    kind = StopKind.CONTEXT_WINDOW
    whole = True

    def measure(self, state: RunState) -> int:
        if not state.turns or state.view.turn == len(state.turns):
            return 0  # what is shown has changed since the last report
        usage = state.turns[-1].usage
        return usage.prompt_tokens + usage.completion_tokens


@stop_condition(
    catches="a run that takes too long, waiting for people included",
    weakness="a tool that is running is not ended: it has a timeout of its own",
    example="Deadline(60)",
    arguments=lambda st: {"limit": st.integers(0, 6)},
    trials=(Trial("Deadline(1)", "stalled", "plan"),),
)
@dataclass(frozen=True, repr=False)
class Deadline(Limit):
    """Stop `limit` seconds after the run was started, waiting for people included.

    A request that is under way then is ended; a tool that is running is not (it has a timeout).
    """

    limit: float | None
    kind = StopKind.DEADLINE
    scope = "tree"

    def measure(self, state: RunState) -> float:
        return state.times.elapsed

    def time_left(self, state: RunState) -> float | None:
        return None if self.limit is None else max(0.0, self.limit - self.measure(state))


@stop_condition(
    catches="work that takes too long, however long people take to decide",
    weakness="pauses before retries do not count",
    example="ActiveTime(60)",
    arguments=lambda st: {"limit": st.integers(0, 6)},
    trials=(Trial("ActiveTime(1)", "runaway;latency=550", "publish"),),
)
@dataclass(frozen=True, repr=False)
class ActiveTime(Limit):
    """Stop after `limit` seconds of work.

    Time between two legs, for a person, is not work, nor is the pause before a retry.
    """

    limit: float | None
    kind = StopKind.ACTIVE_TIME
    scope = "tree"

    def measure(self, state: RunState) -> float:
        return state.times.active

    def time_left(self, state: RunState) -> float | None:
        return None if self.limit is None else max(0.0, self.limit - self.measure(state))
