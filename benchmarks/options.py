"""Command-line options that every scenario shares, and what they amount to."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

import click

from benchmarks.amounts import COUNT, USD
from benchmarks.tables import Form
from harness.models.address import endpoint

F = TypeVar("F", bound=Callable[..., Any])

PRICE_IN = "2.00"  # USD per million input tokens: the prices of the published figures
PRICE_OUT = "12.00"  # USD per million output tokens


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
        raise click.BadParameter(str(error)) from error
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
        type=COUNT,
        default=0,
        help="Pad the first prompt by this many tokens: same cap, a different bill.",
    ),
    click.option(
        "--prompt-cache",
        is_flag=True,
        help="Run each policy again with a simulated prompt cache; reads cost a tenth of input, "
        "writes (where a service charges them) a quarter more.",
    ),
    click.option("--json", "form", flag_value="json", help="Print one JSON object."),
    click.option("--csv", "form", flag_value="csv", help="Print comma-separated values."),
    click.option("--markdown", "form", flag_value="markdown", help="Print a Markdown table."),
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
        "--fail-over-turns", type=COUNT, help="Exit with 1 if any row takes more turns than this."
    ),
)


def drivable(command: F) -> F:
    """Let the command take `-- COMMAND`: somebody else's harness in place of ours."""
    argument = click.argument("command", nargs=-1, type=click.UNPROCESSED)
    return argument(command)


def run_options(command: F) -> F:
    """Add the shared options; the command receives one `options` argument for all of them."""

    @functools.wraps(command)
    def collect(**kwargs: Any) -> Any:
        kwargs.setdefault("command", ())
        shared = {name: kwargs.pop(name) for name in Options.__dataclass_fields__}
        shared["form"] = shared["form"] or "table"
        return command(options=Options(**shared), **kwargs)

    decorated: Any = collect
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]  # click's decorators are untyped here
