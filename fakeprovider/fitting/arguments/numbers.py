"""Numbers within bounds, nearest to zero first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

Parts = Sequence[Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class Bounds:
    """An interval, its ends included or not, and the step its members are multiples of."""

    low: Fraction | None
    low_excluded: bool
    high: Fraction | None
    high_excluded: bool
    step: Fraction | None

    @classmethod
    def of(cls, parts: Parts, *, integer: bool) -> Bounds:
        """The intersection of what all parts say."""
        lows = [*_ends(parts, "minimum", "exclusiveMinimum")]
        highs = [*_ends(parts, "maximum", "exclusiveMaximum")]
        low = max(lows, default=None)
        high = min(highs, key=lambda end: (end[0], not end[1]), default=None)
        steps = [step for part in parts if (step := exact(part.get("multipleOf"))) is not None]
        return cls(
            low=low and low[0],
            low_excluded=bool(low and low[1]),
            high=high and high[0],
            high_excluded=bool(high and high[1]),
            step=_common_multiple([*steps, *([Fraction(1)] if integer else [])]),
        )

    def admit(self, value: Fraction) -> bool:
        """Whether the value lies between the ends."""
        if self.low is not None and (value < self.low or (self.low_excluded and value == self.low)):
            return False
        return self.high is None or not (
            value > self.high or (self.high_excluded and value == self.high)
        )

    def __str__(self) -> str:
        low = "" if self.low is None else f"{'>' if self.low_excluded else '>='} {plain(self.low)}"
        high = (
            "" if self.high is None else f"{'<' if self.high_excluded else '<='} {plain(self.high)}"
        )
        step = "" if self.step in (None, 1) else f"a multiple of {plain(self.step or Fraction(1))}"
        return " and ".join(word for word in (low, high, step) if word) or "without bounds"


def numbers(bounds: Bounds, limit: int = 64) -> Iterator[int | float]:
    """At most `limit` numbers within the bounds, the nearest to zero first."""
    steps = [bounds.step] if bounds.step else [Fraction(1), *_finer(bounds)]
    for step in steps:
        found = False
        for value in _multiples(bounds, step, limit):
            found = True
            yield plain(value)
        if found:
            return


def exact(value: object) -> Fraction | None:
    """The number as it is written in decimal, None for what is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return Fraction(str(value)) if math.isfinite(value) else None


def plain(value: Fraction) -> int | float:
    """An int where the number is whole, else the nearest float."""
    return value.numerator if value.denominator == 1 else float(value)


def _ends(parts: Parts, inclusive: str, exclusive: str) -> Iterator[tuple[Fraction, bool]]:
    for part in parts:
        end, beyond = exact(part.get(inclusive)), exact(part.get(exclusive))
        if end is not None:
            yield end, part.get(exclusive) is True  # draft 4 wrote a boolean
        if beyond is not None:
            yield beyond, True


def _common_multiple(steps: Sequence[Fraction]) -> Fraction | None:
    if not steps:
        return None
    denominator = math.lcm(*(step.denominator for step in steps))
    return Fraction(math.lcm(*(int(step * denominator) for step in steps)), denominator)


def _finer(bounds: Bounds) -> Iterator[Fraction]:
    """Steps that meet an interval which holds no whole number."""
    if bounds.low is None or bounds.high is None or bounds.low > bounds.high:
        return
    if bounds.low == bounds.high:
        yield bounds.low
    else:
        yield from (Fraction(1, 10**power) for power in range(1, 18))


def _multiples(bounds: Bounds, step: Fraction, limit: int) -> Iterator[Fraction]:
    start = Fraction(0)
    if bounds.low is not None and bounds.low > 0:
        start = math.ceil(bounds.low / step) * step
    elif bounds.high is not None and bounds.high < 0:
        start = math.floor(bounds.high / step) * step
    for k in range(limit):
        for value in (start + k * step, start - k * step)[: 2 if k else 1]:
            if bounds.admit(value):
                yield value
