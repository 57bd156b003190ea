"""`bench list`: the scenarios and what each shows."""

from __future__ import annotations

import click
import msgspec
from rich.console import Console
from rich.table import Table

from scenarios import SCENARIOS


@click.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def listing(as_json: bool) -> None:
    """The scenarios: what each does, and what a sound harness makes of it."""
    if as_json:
        click.echo(msgspec.json.encode(_data()))
        return
    table = Table(title="scenarios", title_justify="left")
    for header in ("scenario", "what happens", "what must come out"):
        table.add_column(header)
    for entry in _data():
        table.add_row(entry["scenario"], entry["about"], entry["expect"])
    Console().print(table)


def _data() -> list[dict[str, str]]:
    return [
        {"scenario": s.name, "script": s.script, "about": s.about, "expect": s.expect}
        for s in SCENARIOS.values()
    ]
