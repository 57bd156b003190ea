"""What is typed on the command line: amounts of money, and lists of limits."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Generic, TypeVar

import click

T = TypeVar("T")


class Usd(click.ParamType[Decimal]):
    """A finite, non-negative amount of US dollars, kept as a Decimal."""

    name = "usd"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Decimal:
        try:
            amount = Decimal(str(value).strip().removeprefix("$"))
        except InvalidOperation:
            self.fail(f"{value!r} is not an amount in USD; write it as 0.05", param, ctx)
        if not amount.is_finite() or amount < 0:
            self.fail(f"{value!r} is not an amount in USD of 0 or more", param, ctx)
        return amount


class Count(click.ParamType[int]):
    """A whole number of 0 or more; `1_000` and `200k` are understood."""

    name = "count"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        text = str(value).strip().replace("_", "").lower()
        factor = 1000 if text.endswith("k") else 1
        if not text.removesuffix("k").isdecimal():
            self.fail(f"{value!r} is not a whole number of 0 or more", param, ctx)
        return int(text.removesuffix("k")) * factor


class Several(click.ParamType[tuple[T, ...]], Generic[T]):
    """A comma-separated list of one kind of value, such as `8,20,50`."""

    def __init__(self, each: click.ParamType[T]) -> None:
        self.each = each
        self.name = f"{each.name}[,{each.name}...]"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[T, ...]:
        if isinstance(value, tuple):
            return value
        parts = [part for part in str(value).split(",") if part.strip()]
        if not parts:
            self.fail("the list is empty; write it as 8,20,50", param, ctx)
        return tuple(self.each.convert(part, param, ctx) for part in parts)


USD = Usd()
COUNT = Count()
USDS: Several[Decimal] = Several(USD)
COUNTS: Several[int] = Several(COUNT)
