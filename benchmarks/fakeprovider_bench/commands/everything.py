"""`bench list`: the scenarios, what each shows, and the command that runs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import click
import msgspec

from fakeprovider_bench.commands import (
    budgets,
    cancel,
    done,
    effects,
    growth,
    latency,
    outer,
    resume,
    subagent,
    tool_errors,
    turns,
)
from fakeprovider_bench.options import Options, cacheable, run_options
from fakeprovider_bench.output.grid import Grid, show_grid
from fakeprovider_bench.output.tables import console, render
from fakeprovider_bench.policies import caps
from fakeprovider_bench.report import Report
from fakeprovider_bench.session import judge
from fakeprovider_scenarios import SCENARIOS

SHOWN_BY = {
    "slow": "cancel",
    "survey": "growth",
    "planned": "outer",
    **dict.fromkeys(("fixer", "premature", "gaming", "circling"), "done"),
    **dict.fromkeys(
        ("stalled", "cycle", "polling", "fruitless", "empty", "truncated", "malformed"), "stop"
    ),
    **dict.fromkeys(("chatter", "spender", "flaky", "shaky", "overflow"), "stop"),
}
"""The command that runs a scenario, where it has another name."""

HEADERS = ("scenario", "command", "what happens", "what must come out")
PARAGRAPH = 8  # lines that a row of prose may take


def shown_by(scenario: str) -> str:
    """The name of the bench command that runs a scenario."""
    return SHOWN_BY.get(scenario, scenario)


@click.command("list", short_help="All scenarios, and which command runs each.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def listing(as_json: bool) -> None:
    """The scenarios: what each does, what a sound harness makes of it, and how to run it."""
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(_data()), indent=1))
        return
    lines = [[one["scenario"], one["command"], one["about"], one["expect"]] for one in _data()]
    show_grid(Grid("scenarios", HEADERS, lines, height=PARAGRAPH), console())


def _data() -> list[dict[str, str]]:
    return [
        {
            "scenario": scenario.name,
            "command": f"bench {shown_by(scenario.name)}",
            "script": scenario.script,
            "about": scenario.about,
            "expect": scenario.expect,
        }
        for scenario in SCENARIOS.values()
    ]


CAPS = (8, 20, 50, 100)


@click.command("all", short_help="Every scenario, one table after the other.")
@cacheable
@run_options
def everything(options: Options) -> None:
    """Every scenario under the policies that matter for it; JSON is a list of reports."""
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
    yield turns.plan_report
    yield lambda chosen: turns.runaway_report(chosen, caps(CAPS))
    yield tool_errors.recover_report
    yield tool_errors.denied_report
    yield effects.duplicate_report
    yield effects.destructive_report
    yield effects.publish_report
    yield turns.long_report
    yield subagent.report
    yield resume.report
    yield cancel.report
    yield budgets.report
    yield done.report
    yield growth.report
    yield outer.report
    if not options.base_url:  # it sets the provider's pace
        yield latency.report
