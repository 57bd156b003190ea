"""Limits that can be kept exactly, by reserving what a request may use before it is sent."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from harness.prices import Price
from harness.stop import Limit


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
