"""What is typed on the command line, and the decorator that makes a function a command."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Generic, TypeVar

import click
from click.core import ParameterSource

from fakeprovider.registry import Registry
from fakeprovider_bench.report import Form
from fakeprovider_harness.commands.options import Usd as Amount
from fakeprovider_harness.models.exchange import endpoint

T = TypeVar("T")


MOST_USD = Decimal(10**9)
SMALLEST_USD = Decimal("1e-12")
MOST = 10**9
DAY = 86_400  # seconds


class Usd(Amount):
    """An amount of US dollars from 0 to 10⁹, kept as a Decimal, to 12 decimals."""

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Decimal:
        amount = super().convert(value, param, ctx)
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


PRICE_IN = "2.00"  # USD per million input tokens: the prices of the published figures
PRICE_OUT = "12.00"  # USD per million output tokens
MOST_PADDING = 1_000_000  # tokens: as long as the longest windows there are


@dataclass(frozen=True, kw_only=True)
class Options:
    """What was asked for on the command line, beside the limits of the scenario itself."""

    base_url: str | None
    model: str | None
    protocol: str
    stream: bool
    price_in: Decimal
    price_out: Decimal
    base_tokens: int
    form: Form
    trace: Path | None
    fail_over_cost: Decimal | None
    fail_over_turns: int | None
    prompt_cache: bool = False
    command: tuple[str, ...] = ()


def _base_url(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    try:
        endpoint(value, "") if value else None
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--base-url or LLM_BASE_URL") from error
    return value


_OPTIONS = (
    click.option(
        "--base-url",
        envvar="LLM_BASE_URL",
        callback=_base_url,
        help="Endpoint to use instead of a provider started here. [env: LLM_BASE_URL]",
    ),
    click.option("--model", help="Model name to send. [default: the scenario's script]"),
    click.option(
        "--protocol",
        type=click.Choice(["chat", "messages", "responses"]),
        default="chat",
        show_default=True,
        help="Dialect that the harness speaks.",
    ),
    click.option("--stream/--whole", default=False, help="Ask for streamed or whole replies."),
    click.option(
        "--price-in",
        type=USD,
        default=PRICE_IN,
        show_default=True,
        help="USD per million input tokens.",
    ),
    click.option(
        "--price-out",
        type=USD,
        default=PRICE_OUT,
        show_default=True,
        help="USD per million output tokens.",
    ),
    click.option(
        "--base-tokens",
        type=Count(MOST_PADDING),
        default=0,
        help="Pad the first prompt by this many tokens: same cap, a different bill.",
    ),
    click.option("--json", is_flag=True, help="Print one JSON object."),
    click.option("--csv", is_flag=True, help="Print comma-separated values."),
    click.option("--markdown", is_flag=True, help="Print a Markdown table."),
    click.option(
        "--trace",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Append the harness's events to this file, one JSON line each.",
    ),
    click.option(
        "--fail-over-cost",
        type=USD,
        help="Exit with 1 if any row costs more than this many USD.",
    ),
    click.option(
        "--fail-over-turns", type=Count(), help="Exit with 1 if any row takes more turns than this."
    ),
)


FORMS: tuple[Form, ...] = ("json", "csv", "markdown")
OURS = ("base_url", "protocol", "stream", "base_tokens", "trace", "prompt_cache")
"""Options that only our own harness, or the endpoint that it asks, can follow."""


COMMANDS: Registry[click.Command] = Registry("bench command")
"""The commands whose modules were imported: `cli` imports the one that is called."""

_DRIVABLE = click.argument("command", nargs=-1, type=click.UNPROCESSED)
_CACHEABLE = click.option(
    "--prompt-cache",
    is_flag=True,
    help="Run each policy again with a simulated prompt cache; reads cost a tenth of input, "
    "writes (where a service charges them) a quarter more.",
)


def bench_command(
    *, drivable: bool = False, cacheable: bool = False, shared: bool = True
) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a function the command of its module: of that name, with its docstring as short help.

    `drivable` lets it take `-- COMMAND`, somebody else's harness in place of ours; `cacheable`
    lets it run each policy a second time, with a prompt cache; `shared` gives it the options that
    all scenarios share, as one argument `options`.
    """

    def register(function: Callable[..., Any]) -> click.Command:
        own = function.__dict__.pop("__click_params__", [])
        decorated = _collecting(function) if shared else function
        for option in reversed(_OPTIONS if shared else ()):
            decorated = option(decorated)
        if cacheable:
            decorated = _CACHEABLE(decorated)
        if drivable:
            decorated = _DRIVABLE(decorated)
        decorated.__dict__.setdefault("__click_params__", []).extend(own)
        name = function.__module__.rpartition(".")[2]
        about = first_line(sys.modules[function.__module__].__doc__)
        return COMMANDS.add(name, click.command(name, short_help=about)(decorated))

    return register


def first_line(docstring: str | None) -> str:
    """What a module says of itself."""
    return (docstring or "").partition("\n")[0]


def _collecting(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with one `options` argument in place of all that are shared."""

    @functools.wraps(function)
    def collect(**kwargs: Any) -> Any:
        kwargs.setdefault("command", ())
        kwargs.setdefault("prompt_cache", False)
        kwargs["form"] = _form(kwargs)
        if kwargs["command"]:
            _refuse_ours(click.get_current_context())
        options = {name: kwargs.pop(name) for name in Options.__dataclass_fields__}
        return function(options=Options(**options), **kwargs)

    return collect


def _form(kwargs: dict[str, Any]) -> Form:
    """The one form that was asked for; removes the three flags."""
    forms = [form for form in FORMS if kwargs.pop(form)]
    if len(forms) > 1:
        *others, last = (f"--{form}" for form in forms)
        raise click.UsageError(
            f"{', '.join(others)} and {last} are different forms of one output: keep one, drop "
            f"{'the other' if len(forms) == 2 else 'the others'}"
        )
    return forms[0] if forms else "table"


def _refuse_ours(context: click.Context) -> None:
    """What is only for our harness is refused beside `-- COMMAND`, not silently left out."""
    typed = [
        max(parameter.opts, key=len)
        for parameter in context.command.params
        if parameter.name in OURS
        and context.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE
    ]
    if typed:
        raise click.UsageError(
            f"{', '.join(typed)}: for our own harness only; drop it, or drop -- COMMAND"
        )
