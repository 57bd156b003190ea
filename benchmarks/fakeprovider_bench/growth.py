"""How a bill grows with the number of turns, fitted from the prompts that a run really sent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

MIN_TURNS = 8


@dataclass(frozen=True)
class Growth:
    """Total input after n turns is about `a`·n + `b`·n² tokens.

    `a` and `b` follow from a least-squares line through the per-turn prompt sizes;
    `exponent` is measured, not fitted: log(S(n) / S(n/2)) / log(n / (n/2)), 1 for a flat
    prompt and close to 2 for a history that is sent again each turn; `residual` is the
    root mean square distance of a prompt from the line, in tokens.
    """

    turns: int
    a: float
    b: float
    exponent: float
    residual: float

    def total(self, turns: int) -> float:
        """Input tokens that the fit expects for `turns` turns."""
        return self.a * turns + self.b * turns * turns


def fit(prompts: Sequence[int]) -> Growth | None:
    """Fit the growth of one run; None below eight turns, where a curve says nothing.

    `prompts` holds the prompt tokens of each turn, in order.
    """
    n = len(prompts)
    if n < MIN_TURNS:
        return None
    intercept, slope = _line(prompts)
    residual = math.sqrt(
        sum((p - intercept - slope * t) ** 2 for t, p in enumerate(prompts, 1)) / n
    )
    # S(n) = Σ (intercept + slope·t) = intercept·n + slope·n(n + 1)/2
    return Growth(n, intercept + slope / 2, slope / 2, _exponent(prompts), residual)


def _line(values: Sequence[int]) -> tuple[float, float]:
    n = len(values)
    mean_t, mean_v = (n + 1) / 2, sum(values) / n
    covariance = sum((t - mean_t) * (v - mean_v) for t, v in enumerate(values, 1))
    slope = covariance / sum((t - mean_t) ** 2 for t in range(1, n + 1))
    return mean_v - slope * mean_t, slope


def _exponent(prompts: Sequence[int]) -> float:
    totals = list(accumulate(prompts))
    n = len(totals)
    half = n // 2
    if totals[half - 1] <= 0:
        return 0.0
    return math.log(totals[-1] / totals[half - 1]) / math.log(n / half)
