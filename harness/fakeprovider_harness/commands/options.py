"""Options that all commands share, and what they amount to."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from math import isfinite, nan
from pathlib import Path
from typing import Any, TypeVar

import click

from fakeprovider_harness.budget.charging import Price, PriceTable
from fakeprovider_harness.models.client import PROTOCOLS

F = TypeVar("F", bound=Callable[..., Any])


TURNS = 50
"""Turns of one run, where `--max-turns` says nothing else."""


def refuse_empty(text: str | None, wanted: str) -> None:
    """Refuse an argument that is there and empty; raises `click.UsageError`."""
    if text is not None and not text.strip():
        raise click.UsageError(f"{wanted}; an empty text says nothing")


class Count(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.4 on
    """A cap in whole numbers: 0 is refused, since nothing would ever start."""

    name = "integer"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        try:
            count = int(str(value).replace("_", ""))
        except ValueError:
            self.fail(f"{value!r} is not a whole number", param, ctx)
        if count <= 0:
            self.fail(NEVER.format(count), param, ctx)
        return count


class Usd(click.ParamType):  # type: ignore[type-arg]  # as above
    """An amount of US dollars, kept as a Decimal; a `cap` is above 0."""

    name = "usd"

    def __init__(self, *, cap: bool = False) -> None:
        self._cap = cap

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Decimal:
        try:
            amount = Decimal(str(value).strip().removeprefix("$"))
        except InvalidOperation:
            self.fail(f"{value!r} is not an amount in USD; write it as 0.05", param, ctx)
        if not amount.is_finite() or amount < 0:
            self.fail(f"{value!r} is not an amount in USD of 0 or more", param, ctx)
        if self._cap and not amount:
            self.fail(NEVER.format(value), param, ctx)
        return amount


class Seconds(click.ParamType):  # type: ignore[type-arg]  # as above
    """A cap in seconds, above 0."""

    name = "seconds"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        try:
            seconds = float(str(value))
        except ValueError:
            seconds = nan
        if not isfinite(seconds):
            self.fail(f"{value!r} is not a number of seconds", param, ctx)
        if seconds <= 0:
            self.fail(NEVER.format(value), param, ctx)
        return seconds


USD = Usd()
NEVER = "{} would never start: a cap is above 0"


@dataclass(frozen=True, kw_only=True)
class Options:
    """What was asked for, beside what belongs to one command."""

    base_url: str | None
    model: str
    protocol: str
    stream: bool
    directory: Path
    protect: tuple[str, ...]
    yes: bool
    max_turns: int | None
    max_cost: Decimal | None
    max_tokens: int | None
    price_in: Decimal | None
    price_out: Decimal | None
    prices: Path | None
    store: Path | None
    quiet: bool
    max_iterations: int | None = None
    max_seconds: float | None = None
    unlimited: bool = False

    @property
    def price(self) -> Price | PriceTable | None:
        """The price of the model, None where none was given; raises `click.UsageError`."""
        if self.prices is not None:
            try:
                return PriceTable.load(self.prices)
            except (OSError, ValueError) as error:
                raise click.UsageError(str(error)) from error
        if (self.price_in is None) != (self.price_out is None):
            raise click.UsageError("give both --price-in and --price-out, or neither")
        if self.price_in is None or self.price_out is None:
            return None
        return Price(self.price_in, self.price_out)

    @property
    def store_path(self) -> Path:
        """Where runs are kept: as given, else under `$XDG_STATE_HOME` or `~/.local/state`.

        Raises `click.UsageError` for a user without a home.
        """
        if self.store is not None:
            return self.store
        try:
            home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
        except RuntimeError as error:
            raise click.UsageError(f"{error} to keep runs in: give --store FILE") from error
        return Path(home) / "harness" / "runs.sqlite"


TURNS_HELP = f"Turns of one run. [default: {TURNS}; goal: no limit]"
COST_HELP = (
    "USD in all; needs a price. It is reserved: a request whose worst case does not fit in what is "
    "left is not sent."
)
_OPTIONS = (
    click.option(
        "--base-url", envvar="LLM_BASE_URL", help="Where the model is. [env: LLM_BASE_URL]"
    ),
    click.option("--model", default="default", show_default=True, help="Model name to send."),
    click.option(
        "--protocol",
        type=click.Choice(list(PROTOCOLS)),
        default="chat",
        show_default=True,
        help="Dialect to speak.",
    ),
    click.option("--stream/--whole", default=False, help="Ask for streamed or whole replies."),
    click.option(
        "--dir",
        "directory",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        default=".",
        show_default=True,
        help="The project that the tools work on.",
    ),
    click.option(
        "--protect", multiple=True, help="Pattern of paths that must not be written; repeatable."
    ),
    click.option("--yes", is_flag=True, help="Do not ask before a write or a command."),
    click.option("--max-turns", type=Count(), help=TURNS_HELP),
    click.option("--max-cost", type=Usd(cap=True), help=COST_HELP),
    click.option("--max-tokens", type=Count(), help="Tokens in all."),
    click.option("--price-in", type=USD, help="USD per million input tokens."),
    click.option("--price-out", type=USD, help="USD per million output tokens."),
    click.option(
        "--prices",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Price file, TOML or JSON, instead of one price.",
    ),
    click.option(
        "--store",
        type=click.Path(dir_okay=False, path_type=Path),
        envvar="HARNESS_STORE",
        help="Where runs are kept. [env: HARNESS_STORE; default: ~/.local/state/harness]",
    ),
    click.option("--quiet", is_flag=True, help="No progress on standard error."),
)


def shared_options(command: F) -> F:
    """Add the shared options; the command receives one `options` argument for all of them."""

    @functools.wraps(command)
    def collect(**kwargs: Any) -> Any:
        shared = {name: kwargs.pop(name) for name in Options.__dataclass_fields__ if name in kwargs}
        return command(options=Options(**shared), **kwargs)

    decorated: Any = collect
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]  # click's decorators are untyped here


def cap_options(command: F) -> F:
    """Add the caps of an outer loop that are not shared: iterations, time, or none said aloud."""
    decorated: Any = command
    for option in reversed(
        (
            click.option("--max-iterations", type=Count(), help="Rounds in all."),
            click.option("--max-seconds", type=Seconds(), help="Seconds of work in all."),
            click.option("--unlimited", is_flag=True, help="Say that no cap is wanted."),
        )
    ):
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]  # click's decorators are untyped here
