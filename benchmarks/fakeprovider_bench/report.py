"""What a bench prints: rows, one per stop policy, and how the first long run grew."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise
from typing import Any, Literal

import msgspec

from fakeprovider_bench.growth import Growth, fit

Form = Literal["table", "json", "csv", "markdown"]
"""How a report is printed."""


class StopCell(msgspec.Struct, frozen=True):
    """Why a run ended: the kind, what was reached, the limit, and how far it went past it.

    `reason` is the caller's or the provider's own word on it, where there is one.
    """

    kind: str
    value: Any = None
    limit: Any = None
    overshoot: Any = None
    reason: str | None = None


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One run under one policy. Tokens are per turn, `cost_usd` is exact, times are in ms.

    `harness_ms` is what neither the provider nor the tools used of `wall_ms`. `status` None means
    that it could not be observed (another harness's process says only how it ended). `estimated`
    says that the totals hold a request whose usage is not known and was taken at its most. `run_id`
    is the one in the lines of a `--trace`, None where another harness ran; `run_ids` are those of a
    row of several runs, of which `run_id` is the last.
    `extra` is what a scenario measures beside, a column each; `prompt_parts` are tokens per request
    of what the prompts are made of, where they were weighed.
    """

    policy: str
    turns: int
    tool_runs: int | None
    prompt_tokens: list[int]
    completion_tokens: list[int]
    input_tokens: int
    output_tokens: int
    cost_usd: Decimal | None
    status: str | None
    stop: StopCell | None = None
    answer: str | None = None
    effects: dict[str, list[str]] = {}
    wall_ms: float = 0.0
    harness_ms: float | None = None
    estimated: bool = False
    run_id: str | None = None
    run_ids: list[str] = []
    extra: dict[str, Any] = {}
    prompt_parts: dict[str, list[int]] = {}

    @property
    def last_prompt(self) -> int:
        """Prompt tokens of the last turn, 0 if there was none."""
        return self.prompt_tokens[-1] if self.prompt_tokens else 0

    @property
    def grows(self) -> bool:
        """Whether no prompt is smaller than the one before."""
        return all(before <= after for before, after in pairwise(self.prompt_tokens))


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """All rows of one scenario under one harness; `notes` are sentences for a person.

    Prices are in USD per million tokens, None where they are not known.
    """

    scenario: str
    harness: str
    rows: list[Row]
    notes: list[str] = []
    price_in: Decimal | None = None
    price_out: Decimal | None = None

    def cost(self, input_tokens: Decimal, output_tokens: Decimal) -> Decimal | None:
        """USD for so many tokens; None without a price."""
        if self.price_in is None or self.price_out is None:
            return None
        return (input_tokens * self.price_in + output_tokens * self.price_out) / 1_000_000

    def longest(self) -> Row | None:
        """The row from which growth is fitted: the most turns whose history was never cut.

        Prompts that shrink on the way follow no line; where they do in every row, the most turns.
        """
        whole = [row for row in self.rows if row.grows]
        return max(whole or self.rows, key=lambda row: row.turns, default=None)

    def growth(self) -> Growth | None:
        """The growth of that run; None below eight turns."""
        row = self.longest()
        return fit(row.prompt_tokens) if row else None

    def to_data(self) -> dict[str, Any]:
        """The documented `--json` form."""
        growth = self.growth()
        return {
            "scenario": self.scenario,
            "harness": self.harness,
            "rows": msgspec.to_builtins(self.rows),
            "growth": None if growth is None else _growth_data(growth),
            "notes": self.notes,
        }


def _growth_data(growth: Growth) -> dict[str, float | int]:
    return {
        "turns": growth.turns,
        "a": round(growth.a, 6),
        "b": round(growth.b, 6),
        "exponent": round(growth.exponent, 4),
        "residual": round(growth.residual, 4),
    }
