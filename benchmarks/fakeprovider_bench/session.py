"""One command from its options to its exit status: endpoint, rows, report, gates."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from fakeprovider.scripts import UnknownScript
from fakeprovider_bench.endpoint import Endpoint, open_endpoint, padding
from fakeprovider_bench.options import Options
from fakeprovider_bench.output.printing import render
from fakeprovider_bench.output.progress import progress
from fakeprovider_bench.output.tables import usd
from fakeprovider_bench.policies import Policy
from fakeprovider_bench.report import Report, Row
from fakeprovider_bench.runner import Shared, run_policy
from fakeprovider_harness import JsonlTrace, MaxTokens, MaxTurns
from fakeprovider_harness.budget.charging import Price
from fakeprovider_scenarios import Scenario

if TYPE_CHECKING:
    from fakeprovider_bench.adapters import Cut

OURS = "harness"
CACHE_READ = Decimal("0.1")  # of the input price; platform.claude.com, prompt caching, pricing
CACHE_WRITE = Decimal("1.25")  # the same page, for five minutes
NOT_OBSERVABLE = (
    "n/o, not observable: judged from the provider's journal, what another harness's tools did, "
    "why it stopped and what it answered cannot be seen."
)
UNANSWERED = frozenset(
    {"provider_error", "provider_unavailable", "rate_limited", "failures", "idle"}
)


class GateFailed(click.ClickException):
    """A row went over what the caller allowed; exit status 1."""

    exit_code = 1


def require_pytest(command: str) -> None:
    """Refuse a command that runs a real test suite where there is no pytest to run it."""
    if find_spec("pytest") is None:
        raise click.ClickException(
            f"bench {command} runs a test suite and needs pytest, which is not installed here: "
            "pip install pytest"
        )


@contextmanager
def open_shared(
    title: str, options: Options, scenario: Scenario, *, cached: bool = False, timed: bool = True
) -> Iterator[Shared]:
    """What all rows share, for as long as the command runs; `title` is the table's.

    `timed` says that the clock decides what comes out of a row.
    """
    with ExitStack() as stack:
        line = stack.enter_context(progress(title, quiet=options.form == "json"))
        endpoint: Endpoint = stack.enter_context(open_endpoint(options, cached=cached, timed=timed))
        trace = None
        if options.trace is not None:
            trace = stack.enter_context(_open_trace(options.trace))
        yield Shared(
            endpoint,
            price(options),
            line,
            line.hearing(trace),
            padding(scenario.system, options.base_tokens),
        )


def price(options: Options) -> Price:
    """The price of every request; cached tokens by the multiples that Anthropic documents."""
    return Price(
        options.price_in,
        options.price_out,
        cached=options.price_in * CACHE_READ,
        cache_write=options.price_in * CACHE_WRITE,
    )


def run_rows(scenario: Scenario, policies: Iterable[Policy], options: Options) -> list[Row]:
    """One row per policy; with a prompt cache one more for each."""
    policies = list(policies)
    rows = _run(scenario, policies, options, cached=False)
    if options.prompt_cache:
        cached = [replace(policy, name=f"{policy.name}, cached") for policy in policies]
        rows += _run(scenario, cached, options, cached=True)
    return rows


def _run(
    scenario: Scenario, policies: Sequence[Policy], options: Options, *, cached: bool
) -> list[Row]:
    with open_shared(scenario.name, options, scenario, cached=cached, timed=False) as shared:
        named = shared.line.each(policies, lambda policy: policy.name)
        return [run_policy(scenario, policy, shared) for policy in named]


def report_of(
    scenario: str, rows: list[Row], options: Options, notes: Iterable[str] = ()
) -> Report:
    """The report of our own harness on one scenario; `notes` are sentences for a person."""
    return Report(
        scenario=scenario,
        harness=OURS,
        rows=rows,
        notes=list(notes),
        price_in=options.price_in,
        price_out=options.price_out,
    )


def show(report: Report, options: Options) -> None:
    """Print the report, then fail if a gate is crossed."""
    render(report, options.form)
    judge([report], options)


def judge(reports: Iterable[Report], options: Options) -> None:
    """Raises `GateFailed` naming every row that crosses a gate, or in which no model answered."""
    crossed = [
        f"{report.scenario}, {problem}"
        for report in reports
        for problem in (
            *_unanswered(report, options),
            *_over_cost(report, options),
            *_over_turns(report, options),
        )
    ]
    if crossed:
        raise GateFailed("; ".join(crossed))


def bench(
    scenario: Scenario, policies: Iterable[Policy], options: Options, notes: Iterable[str] = ()
) -> Report:
    """Run every policy: all that a simple scenario's report needs.

    Where a command was given it is run instead, once per limit that the provider can enforce.
    """
    if options.command:
        return foreign(scenario, policies, options)
    return report_of(scenario.name, run_rows(scenario, policies, options), options, notes)


def foreign(scenario: Scenario, policies: Iterable[Policy], options: Options) -> Report:
    """The report of somebody else's harness, which keeps its own limits or none."""
    from fakeprovider_bench.adapters import NoRequest, run_command  # late: only `-- COMMAND` does

    cuts = list(dict.fromkeys(cut_of(policy) for policy in policies))
    script = options.model or scenario.script
    try:
        with progress(scenario.name, quiet=options.form == "json") as line:
            rows = [
                run_command(options.command, script, cut, price(options))
                for cut in line.each(cuts, lambda cut: cut.name)
            ]
    except NoRequest as error:
        raise click.ClickException(str(error)) from error
    except UnknownScript as error:
        raise click.BadParameter(error.args[0], param_hint="--model") from error
    report = report_of(scenario.name, rows, options, [NOT_OBSERVABLE])
    return msgspec.structs.replace(report, harness=shlex.join(options.command))


def cut_of(policy: Policy) -> Cut:
    """Where the provider ends a run under this policy: it can count requests and tokens."""
    from fakeprovider_bench.adapters import Cut  # late: only `-- COMMAND` does

    match policy.stop:
        case MaxTurns(int(limit)):
            return Cut(requests=limit)
        case MaxTokens(int(limit)):
            return Cut(tokens=limit)
    raise click.UsageError(
        f"{policy.name}: another harness keeps its own limits, and the provider can only count "
        "requests and tokens: use --cap or --max-tokens with -- COMMAND"
    )


def _unanswered(report: Report, options: Options) -> Iterator[str]:
    for row in report.rows:
        if row.turns == 0 and row.stop is not None and row.stop.kind in UNANSWERED:
            where = f" at {options.base_url}" if options.base_url else ""
            why = row.stop.reason or row.stop.kind
            yield f"{row.policy}: no reply from the model{where} ({why})"


def _over_cost(report: Report, options: Options) -> Iterator[str]:
    limit = options.fail_over_cost
    if limit is None:
        return
    for row in report.rows:
        if row.cost_usd is None:
            yield f"{row.policy}: cost unknown, so not known to stay under {usd(limit)}"
        elif row.cost_usd > limit:
            yield f"{row.policy}: cost {usd(row.cost_usd)}, over {usd(limit)}"


def _over_turns(report: Report, options: Options) -> Iterator[str]:
    limit = options.fail_over_turns
    if limit is None:
        return
    for row in report.rows:
        if row.turns > limit:
            yield f"{row.policy}: {row.turns} turns, over {limit}"


def _open_trace(path: Path) -> JsonlTrace:
    try:
        return JsonlTrace(path)
    except OSError as error:
        raise click.BadParameter(
            f"cannot write {path}: {error.strerror}", param_hint="--trace"
        ) from error
