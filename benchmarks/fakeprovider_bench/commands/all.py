"""Every scenario, one table after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import click
import msgspec

from fakeprovider_bench.commands import (
    budgets,
    cancel,
    denied,
    destructive,
    done,
    duplicate,
    growth,
    latency,
    long,
    outer,
    plan,
    publish,
    recover,
    resume,
    runaway,
    subagent,
)
from fakeprovider_bench.options import Options, bench_command
from fakeprovider_bench.output.printing import render
from fakeprovider_bench.policies import caps
from fakeprovider_bench.report import Report
from fakeprovider_bench.session import judge, require_pytest

CAPS = (8, 20, 50, 100)


@bench_command(cacheable=True)
def everything(options: Options) -> None:
    """Every scenario under the policies that matter for it; JSON is a list of reports."""
    require_pytest("all")
    reports: list[Report] = []
    for make in _makers(options):
        report = make(options)
        if reports and options.form in ("table", "markdown"):
            click.echo()
        if options.form != "json":
            render(report, options.form, header=not reports)
        reports.append(report)
    if options.form == "json":
        click.echo(msgspec.json.encode([report.to_data() for report in reports]))
    judge(reports, options)


def _makers(options: Options) -> Iterator[Callable[[Options], Report]]:
    yield plan.report
    yield lambda chosen: runaway.report(chosen, caps(CAPS))
    yield recover.report
    yield denied.report
    yield duplicate.report
    yield destructive.report
    yield publish.report
    yield long.report
    yield subagent.report
    yield resume.report
    yield cancel.report
    yield budgets.report
    yield done.report
    yield growth.report
    yield outer.report
    if not options.base_url:  # it sets the provider's pace
        yield latency.report
