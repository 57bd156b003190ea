"""Limits on tokens and money, kept after each turn or, with `reserve`, before each request."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from fakeprovider_harness import quantities
from fakeprovider_harness.budget.charging import rates
from fakeprovider_harness.budget.prices import Price
from fakeprovider_harness.outcomes import Stop, StopKind
from fakeprovider_harness.state import RunState
from fakeprovider_harness.stop import Limit, Stops


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
