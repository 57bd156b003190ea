"""Numbers on the command line that a clock can keep: `nan` and `inf` are no seconds."""

from __future__ import annotations

import math
from typing import Any

import click


class Finite(click.FloatRange):
    """A number within bounds that is one; click takes `nan` for one in any range."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number; fails for what is none."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number
