"""Limits on what a run does and on the time it takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from fakeprovider_harness.budget.prices import Price
from fakeprovider_harness.conditions.budgets import Need, Reservable
from fakeprovider_harness.outcomes import Stop, StopKind
from fakeprovider_harness.state import RunState
from fakeprovider_harness.stop import Limit, Stops


@dataclass(frozen=True, repr=False)
class MaxTurns(Reservable):
    """At most `limit` replies, summaries included; the calls of the last one stay pending.

    With `scope="tree"` the replies to all sub-agents count too, and exactly: each request is
    counted before it is sent, so that parallel sub-agents cannot pass the limit together.
    """

    limit: int | None
    scope: Literal["run", "tree"] = "run"
    kind = StopKind.MAX_TURNS
    whole = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scope not in ("run", "tree"):
            raise ValueError(f"MaxTurns: scope is 'run' or 'tree', not {self.scope!r}")

    @property
    def reserving(self) -> bool:
        return self.scope == "tree" and self.limit is not None

    def measure(self, state: RunState) -> int:
        return state.steps + (state.child_turns if self.scope == "tree" else 0)

    def of(self, need: Need) -> int:
        return need.requests

    def written(self, amount: int) -> str:
        return "1 turn" if amount == 1 else f"{amount} turns"

    def shortage(self, needed: int, left: int) -> str:
        return f"{self.written(left)} left: requests that other agents have sent count as well"

    def room(self, left: int, prompt: int, price: Price | None) -> int | None:
        return None if left >= 1 else -1


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


Over = Literal["stop", "skip", "reject"]


@dataclass(frozen=True, repr=False)
class MaxToolCalls(Limit):
    """At most `limit` tool executions in the run, exactly, also within one reply of many calls.

    What happens to the calls beyond it: `stop` ends the run and leaves them pending; `skip`
    answers them in words and goes on; `reject` answers the whole batch that would pass the limit
    and runs none of it.
    """

    limit: int | None
    over: Over = "stop"
    kind = StopKind.MAX_TOOL_CALLS
    whole = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.over not in get_args(Over):
            raise ValueError(f"MaxToolCalls: over is one of {get_args(Over)}, not {self.over!r}")

    def measure(self, state: RunState) -> int:
        return state.tool_runs

    def __call__(self, state: RunState) -> Stops:
        waiting = any(call.phase in ("new", "ready") for call in state.pending)
        return super().__call__(state) if self.over == "stop" and waiting else ()

    def veto(self, state: RunState) -> Stop | None:
        if self.over == "stop" or self.limit is None:
            return None
        turn = state.turns[-1]
        wanted = turn.tool_runs + turn.calls if self.over == "reject" else state.tool_runs + 1
        return Stop(self.kind, wanted, self.limit) if wanted > self.limit else None
