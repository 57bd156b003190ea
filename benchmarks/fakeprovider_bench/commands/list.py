"""All scenarios, and which command runs each."""

from __future__ import annotations

import click
import msgspec

from fakeprovider_bench.options import bench_command
from fakeprovider_scenarios import SCENARIOS

HEADERS = ("scenario", "command", "what happens", "what must come out")
PARAGRAPH = 8  # lines that a row of prose may take


@bench_command(shared=False)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def listing(as_json: bool) -> None:
    """The scenarios: what each does, what a sound harness makes of it, and how to run it."""
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(_data()), indent=1))
        return
    from fakeprovider_bench.output.grid import Grid, console, show_grid  # late: loads rich

    lines = [[row["scenario"], row["command"], row["about"], row["expect"]] for row in _data()]
    show_grid(Grid("scenarios", HEADERS, lines, height=PARAGRAPH), console())


def _data() -> list[dict[str, str]]:
    return [
        {
            "scenario": scenario.name,
            "command": f"bench {scenario.command}",
            "script": scenario.script,
            "about": scenario.about,
            "expect": scenario.expect,
        }
        for scenario in SCENARIOS.values()
    ]
