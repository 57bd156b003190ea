"""Hard caps of an outer loop: they always apply, 0 is refused, and unlimited must be said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from decimal import Decimal
from functools import reduce
from operator import or_

from fakeprovider_harness import quantities
from fakeprovider_harness.conditions import ActiveTime, MaxCost, MaxTokens
from fakeprovider_harness.outcomes import StopKind
from fakeprovider_harness.outer.report import OuterKind, OuterStop, Spent
from fakeprovider_harness.state import RunState
from fakeprovider_harness.stop import Condition


@dataclass(frozen=True, kw_only=True)
class Caps:
    """What a whole outer loop may use: iterations, USD, tokens, seconds of work; None is no cap.

    The cap on money is kept by reserving: it is not overshot by a turn. Raises `ValueError` for a
    cap that is not above 0, and where there is none at all unless `unlimited` says so; `TypeError`
    for one of the wrong type.
    """

    iterations: int | None = None
    cost: Decimal | str | int | None = None
    tokens: int | None = None
    seconds: float | None = None
    unlimited: bool = False

    def __post_init__(self) -> None:
        for name in ("iterations", "cost", "tokens", "seconds"):
            value = getattr(self, name)
            if isinstance(value, int | float | Decimal) and value <= 0:
                raise ValueError(f"{name}={value} would never start: a cap is above 0")
        quantities.whole("Caps: iterations", self.iterations)
        quantities.whole("Caps: tokens", self.tokens)
        quantities.amount("Caps: seconds", self.seconds)
        object.__setattr__(self, "cost", quantities.usd("Caps: cost", self.cost))
        if self.cost is not None and not self.cost:
            raise ValueError(f"cost={self.cost} would never start: a cap is above 0")
        if not any(True for _ in self._given()) and not self.unlimited:
            kinds = "iterations=20, cost='2.00', tokens=500_000 or seconds=3600"
            raise ValueError(f"a loop without a cap never ends: give {kinds}, or unlimited=True")

    def _given(self) -> Iterator[tuple[str, Decimal]]:
        for field in fields(self)[:4]:
            value = getattr(self, field.name)
            if value is not None:
                yield field.name, Decimal(value)

    def reached(self, spent: Spent) -> OuterStop | None:
        """The cap that is used up, if one is."""
        for kind, used, limit in (
            (OuterKind.MAX_ITERATIONS, spent.iterations, self.iterations),
            (OuterKind.MAX_COST, spent.cost_usd, self.cost),
            (OuterKind.MAX_TOKENS, spent.tokens, self.tokens),
            (OuterKind.MAX_SECONDS, spent.seconds, self.seconds),
        ):
            if limit is not None and used >= Decimal(limit):
                return OuterStop(kind, str(used), str(limit))
        return None

    def room(self, spent: Spent, run: Spent | None = None) -> Condition | None:
        """What is left, as a stop condition for the next run; None where runs are not limited.

        `run` is the part of `spent` that this run has used: its limits count from its start.
        """
        own, limits = run or Spent(), list[Condition]()
        if self.cost is not None:
            left = Decimal(self.cost) - spent.cost_usd + own.cost_usd
            limits.append(MaxCost(max(left, Decimal(0)), reserve=True))
        if self.tokens is not None:
            limits.append(MaxTokens(max(0, self.tokens - spent.tokens + own.tokens)))
        if self.seconds is not None:
            limits.append(ActiveTime(max(0.0, self.seconds - spent.seconds + own.seconds)))
        return reduce(or_, limits) if limits else None


KINDS = {
    StopKind.MAX_COST: OuterKind.MAX_COST,
    StopKind.MAX_TOKENS: OuterKind.MAX_TOKENS,
    StopKind.ACTIVE_TIME: OuterKind.MAX_SECONDS,
}


def hit(room: Condition | None, state: RunState) -> OuterStop | None:
    """The cap that a run was stopped by: `room` and no tighter limit of the run's own.

    A reserved budget stops a run before it is used up, so the sum alone does not say.
    """
    if room is None or state.stop is None:
        return None
    stops = {stop.kind: stop for stop in (state.stop, *state.stop.also)}
    for leaf in room.leaves():
        stop = stops.get(leaf.kind)
        if stop is not None and stop.limit == getattr(leaf, "limit", None):
            return OuterStop(KINDS[leaf.kind], str(stop.value), str(stop.limit))
    return None
