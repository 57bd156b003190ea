"""Limits on tokens and money."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from harness.state import RunState
from harness.stop import Limit, Stops
from harness.ways_out import Stop, StopKind


@dataclass(frozen=True, repr=False)
class MaxTokens(Limit):
    """Stop once input and output tokens together reach `limit`: over by at most one turn."""

    limit: int | None
    kind = StopKind.MAX_TOKENS
    scope = "tree"

    def measure(self, state: RunState) -> int:
        return state.total_tokens


@dataclass(frozen=True, repr=False)
class MaxInputTokens(Limit):
    """Stop once the prompts of the run add up to `limit` tokens: over by at most one turn."""

    limit: int | None
    kind = StopKind.MAX_INPUT_TOKENS
    scope = "tree"

    def measure(self, state: RunState) -> int:
        return state.input_tokens


@dataclass(frozen=True, repr=False)
class MaxOutputTokens(Limit):
    """Stop once the replies of the run add up to `limit` tokens: over by at most one turn."""

    limit: int | None
    kind = StopKind.MAX_OUTPUT_TOKENS
    scope = "tree"

    def measure(self, state: RunState) -> int:
        return state.output_tokens


@dataclass(frozen=True, repr=False)
class MaxCost(Limit):
    """Stop once the run has cost `limit` USD: over by at most one turn.

    The limit is text, an int or a `Decimal`; a float raises `TypeError`, since 0.1 is not ten
    cents. Under it a run whose price is unknown is refused, and one that comes to a price that is
    unknown ends with `usage_unknown`: what cannot be counted cannot be kept under a limit.
    """

    limit: Decimal | None
    kind = StopKind.MAX_COST
    scope = "tree"

    def __init__(self, limit: Decimal | str | int | None) -> None:
        if isinstance(limit, float):
            raise TypeError(f"MaxCost: write the amount as text, MaxCost('{limit}')")
        object.__setattr__(self, "limit", None if limit is None else Decimal(limit))
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
