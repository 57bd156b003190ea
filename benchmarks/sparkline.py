"""A line of block characters that shows the shape of a series."""

from __future__ import annotations

from collections.abc import Sequence

BLOCKS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[int], width: int = 24) -> str:
    """Draw `values` from zero to their maximum in at most `width` characters."""
    if not values:
        return ""
    picked = _sample(values, width)
    scale = len(BLOCKS) / (max(*picked, 0) + 1)
    return "".join(BLOCKS[int(value * scale)] for value in picked)


def _sample(values: Sequence[int], width: int) -> Sequence[int]:
    if len(values) <= width:
        return values
    step = (len(values) - 1) / (width - 1)
    return [values[round(i * step)] for i in range(width)]
