"""What is typed on the command line: amounts of money, and lists of limits."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Generic, TypeVar

import click

T = TypeVar("T")


MOST_USD = Decimal(10**9)
SMALLEST_USD = Decimal("1e-12")
MOST = 10**9
DAY = 86_400  # seconds


class Usd(click.ParamType):  # type: ignore[type-arg]  # as above
    """An amount of US dollars from 0 to 10⁹, kept as a Decimal, to 12 decimals."""

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
        if amount > MOST_USD or amount % SMALLEST_USD:
            self.fail(
                f"{value!r} is not an amount in USD up to {MOST_USD:,} with up to 12 decimals",
                param,
                ctx,
            )
        return Decimal(f"{amount:f}")  # without an exponent, which a label would show


class Count(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.4 on
    """A whole number from 0 to `most`; `1_000` and `200k` are understood."""

    name = "count"

    def __init__(self, most: int = MOST) -> None:
        self.most = most

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        text = str(value).strip().replace("_", "").lower()
        factor = 1000 if text.endswith("k") else 1
        if not text.removesuffix("k").isdecimal():
            self.fail(f"{value!r} is not a whole number of 0 or more", param, ctx)
        if len(text) > 20 or int(text.removesuffix("k")) * factor > self.most:
            self.fail(f"{value!r} is more than {self.most:,}, the most there can be", param, ctx)
        return int(text.removesuffix("k")) * factor


class Seconds(click.ParamType):  # type: ignore[type-arg]  # as above
    """A time in seconds from 0 to a day."""

    name = "seconds"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        try:
            seconds = float(str(value))
        except ValueError:
            self.fail(f"{value!r} is not a time in seconds; write it as 1.2", param, ctx)
        if not 0 <= seconds <= DAY:  # nor is NaN
            self.fail(f"{value!r} is not a time from 0 to {DAY:,} seconds", param, ctx)
        return seconds


class Several(click.ParamType, Generic[T]):  # type: ignore[type-arg]  # as above
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
SECONDS = Seconds()
USDS: Several[Decimal] = Several(USD)
COUNTS: Several[int] = Several(COUNT)
