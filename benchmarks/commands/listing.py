"""`bench list`: the scenarios, what each shows, and the command that runs it."""

from __future__ import annotations

import click
import msgspec

from benchmarks.grid import Grid, show_grid
from benchmarks.tables import console
from scenarios import SCENARIOS

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
