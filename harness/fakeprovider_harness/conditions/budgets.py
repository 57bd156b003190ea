"""Limits on turns, tool calls, tokens and money.

A budget is kept after each turn or, with `reserve`, before each request.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, get_args

from fakeprovider_harness import quantities
from fakeprovider_harness.budget.charging import Price, rates
from fakeprovider_harness.conditions.registry import Trial, stop_condition
from fakeprovider_harness.outcomes import Stop, StopKind
from fakeprovider_harness.state import RunState
from fakeprovider_harness.stop import Limit, Stops

__all__ = ["MaxCost", "MaxInputTokens", "MaxOutputTokens", "MaxTokens", "MaxToolCalls", "MaxTurns"]


@dataclass(frozen=True)
class Need:
    """What requests may use at most: tokens in, tokens out, USD, and how many requests."""

    prompt: int = 0
    output: int = 0
    cost: Decimal = Decimal(0)
    requests: int = 0

    def __add__(self, other: Need) -> Need:
        return Need(
            self.prompt + other.prompt,
            self.output + other.output,
            self.cost + other.cost,
            self.requests + other.requests,
        )

    def __sub__(self, other: Need) -> Need:
        return self + Need(-other.prompt, -other.output, -other.cost, -other.requests)


class Reservable(Limit):
    """A limit of a whole tree of runs, in a unit that a request's worst case can be told in."""

    @property
    def reserving(self) -> bool:
        """Whether requests must fit in it before they are sent."""
        raise NotImplementedError

    @property
    def smallest(self) -> int:
        """Tokens of output without which a request is not worth sending."""
        return 1

    def of(self, need: Need) -> Any:
        """What `need` takes of it, in the limit's unit."""
        raise NotImplementedError

    def shortage(self, needed: Any, left: Any) -> str:
        """Why a request was not sent, for a person."""
        return f"the next turn could cost up to {self.written(needed)}, {self.written(left)} left"

    def written(self, amount: Any) -> str:
        """An amount with its unit."""
        return f"{amount:,} tokens"

    def room(self, left: Any, prompt: int, price: Price | None) -> int | None:
        """Tokens of output that `left` allows after a prompt of `prompt` tokens.

        None if it does not bound the output; negative if not even the prompt fits.
        """
        raise NotImplementedError


@stop_condition(
    catches="a run that goes on and on",
    weakness="the bill grows with the square of the cap, and long honest work is cut",
    example="MaxTurns(20)",
    arguments=lambda st: {"limit": st.integers(0, 6)},
    trials=(Trial("MaxTurns(20)", "runaway", "plan"),),
)
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


Over = Literal["stop", "skip", "reject"]


@stop_condition(
    catches="many calls, also within one reply",
    weakness="a loop that only talks makes no calls",
    example="MaxToolCalls(10)",
    arguments=lambda st: {
        "limit": st.integers(0, 6),
        "over": st.sampled_from(get_args(Over)),
    },
    trials=(Trial("MaxToolCalls(10)", "runaway", "plan"),),
)
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


LEAST = 64
"""Tokens of output without which a request is not worth its prompt."""


@dataclass(frozen=True, repr=False)
class Budget(Reservable):
    """A limit on what a run and all its sub-agents use.

    Without `reserve` it stops the run once the limit is reached, over by at most one turn. With it
    the worst case of a request must fit before the request is sent: the bound of its prompt, and
    the output it is allowed, which is lowered to what is left but not below `least` tokens. Against
    a service that honours the output limit and counts no more tokens than bytes, a reserved budget
    is never overshot, by parallel sub-agents neither; where one is, the stop says by how much.
    """

    limit: Any
    reserve: bool = False
    least: int = LEAST
    scope = "tree"
    whole = True

    def __post_init__(self) -> None:
        super().__post_init__()
        quantities.whole(f"{type(self).__name__}: least", self.least, optional=False)
        if not isinstance(self.reserve, bool):
            raise TypeError(
                f"{type(self).__name__}: reserve is True or False, not {self.reserve!r}"
            )

    @property
    def reserving(self) -> bool:
        return self.reserve and self.limit is not None

    @property
    def smallest(self) -> int:
        return self.least

    def evidence(self, state: RunState) -> dict[str, Any]:
        if not self.reserve or not state.overrun:
            return {}
        return {"error": f"the service used {state.overrun} tokens more than requests allowed"}


@stop_condition(
    catches="a run whose input and output together grow too large",
    weakness="passed by up to one turn, unless it reserves",
    example="MaxTokens(200_000)",
    arguments=lambda st: {"limit": st.integers(0, 20_000)},
    trials=(Trial("MaxTokens(20_000)", "runaway", "plan"),),
)
@dataclass(frozen=True, repr=False)
class MaxTokens(Budget):
    """Input and output tokens together."""

    limit: int | None
    kind = StopKind.MAX_TOKENS

    def measure(self, state: RunState) -> int:
        return state.total_tokens

    def of(self, need: Need) -> int:
        return need.prompt + need.output

    def room(self, left: int, prompt: int, price: Price | None) -> int:
        return left - prompt


@stop_condition(
    catches="a history that is sent again and again",
    weakness="passed by up to one turn, unless it reserves",
    example="MaxInputTokens(200_000)",
    arguments=lambda st: {"limit": st.integers(0, 20_000)},
    trials=(Trial("MaxInputTokens(20_000)", "runaway", "plan"),),
)
@dataclass(frozen=True, repr=False)
class MaxInputTokens(Budget):
    """The prompts of the run added up, in tokens."""

    limit: int | None
    kind = StopKind.MAX_INPUT_TOKENS

    def measure(self, state: RunState) -> int:
        return state.input_tokens

    def of(self, need: Need) -> int:
        return need.prompt

    def room(self, left: int, prompt: int, price: Price | None) -> int | None:
        return None if prompt <= left else left - prompt


@stop_condition(
    catches="a model that talks at length",
    weakness="says nothing of the prompts, which cost most of a long run",
    example="MaxOutputTokens(20_000)",
    arguments=lambda st: {"limit": st.integers(0, 20_000)},
    trials=(Trial("MaxOutputTokens(2_000)", "chatter", "plan"),),
)
@dataclass(frozen=True, repr=False)
class MaxOutputTokens(Budget):
    """The replies of the run added up, in tokens."""

    limit: int | None
    kind = StopKind.MAX_OUTPUT_TOKENS

    def measure(self, state: RunState) -> int:
        return state.output_tokens

    def of(self, need: Need) -> int:
        return need.output

    def room(self, left: int, prompt: int, price: Price | None) -> int:
        return left


@stop_condition(
    catches="a run that costs too much, sub-agents included",
    weakness="needs a price; passed by up to one turn, unless it reserves",
    example="MaxCost('0.05', reserve=True)",
    arguments=lambda st: {"limit": st.sampled_from(("0", "0.001", "0.05", "1"))},
    trials=(
        Trial("MaxCost('0.05')", "runaway", "plan"),
        Trial("MaxCost('0.05', reserve=True)", "spender", "plan"),
    ),
)
@dataclass(frozen=True, repr=False)
class MaxCost(Budget):
    """USD.

    The limit is text, an int or a `Decimal`; a float raises `TypeError`, since 0.1 is not ten
    cents. Under it a run whose price is unknown is refused, and one that comes to a price that is
    unknown ends with `usage_unknown`: what cannot be counted cannot be kept under a limit.
    """

    limit: Decimal | None
    kind = StopKind.MAX_COST
    whole = False

    def __init__(
        self, limit: Decimal | str | int | None, reserve: bool = False, least: int = LEAST
    ) -> None:
        object.__setattr__(self, "limit", quantities.usd("MaxCost: limit", limit))
        object.__setattr__(self, "reserve", reserve)
        object.__setattr__(self, "least", least)
        self.__post_init__()

    @property
    def needs_price(self) -> bool:
        return self.limit is not None

    def __call__(self, state: RunState) -> Stops:
        fired = super().__call__(state)
        if fired or self.limit is None or not state.unpriced:
            return fired
        evidence = {"error": f"the price of {state.unpriced} requests is not known"}
        return (Stop(StopKind.USAGE_UNKNOWN, evidence=evidence),)

    def measure(self, state: RunState) -> Decimal:
        return state.cost_usd

    def written(self, amount: Decimal) -> str:
        return f"${amount:f}"

    def of(self, need: Need) -> Decimal:
        return need.cost

    def room(self, left: Decimal, prompt: int, price: Price | None) -> int | None:
        if price is None:
            return -1
        into, out = rates(price)
        spare = left - prompt * into
        if spare < 0:
            return -1
        return int(spare // out) if out else None
