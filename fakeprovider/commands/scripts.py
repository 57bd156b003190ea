"""`fakeprovider list`, `check`, `schema`: which scripts there are, and are yours right?"""

from __future__ import annotations

import json
from pathlib import Path

import click

from fakeprovider import yamlscripts
from fakeprovider.scripts import describe, discover


@click.command("list")
@click.option("--json", "as_json", is_flag=True, help="As JSON: name and description.")
def list_scripts(as_json: bool) -> None:
    """List the scripts, each with the first line of its description."""
    lines = {name: describe(script) for name, script in discover().items()}
    if as_json:
        rows = [{"name": name, "description": text} for name, text in lines.items()]
        click.echo(json.dumps({"scripts": rows}))
        return
    width = max(map(len, lines))
    for name, text in lines.items():
        click.echo(f"{name:{width}}  {text}")


@click.command()
@click.argument(
    "paths",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, path_type=Path),
    metavar="PATH...",
)
@click.pass_context
def check(context: click.Context, paths: tuple[Path, ...]) -> None:
    """Check YAML scripts: files, or folders of them (hidden ones and node_modules left out).

    Each problem is told as FILE:LINE, what was found, and what is allowed. Exit status 1 if there
    is any.
    """
    right: list[str] = []
    wrong = 0
    for path in paths:
        try:
            scripts, problems = yamlscripts.check(path)
        except OSError as error:
            raise click.ClickException(f"cannot read {path}: {error.strerror}") from error
        right += scripts
        wrong += len(problems)
        for problem in problems:
            click.echo(str(problem))
    if wrong:
        click.echo(f"{wrong} problem{'s' * (wrong > 1)}", err=True)
        context.exit(1)
    click.echo(f"{len(right)} script{'s' * (len(right) != 1)} right: {', '.join(right)}")


@click.command()
def schema() -> None:
    """Print the JSON Schema of YAML scripts.

    \b
      fakeprovider schema > script.schema.json
      # yaml-language-server: $schema=script.schema.json
    """
    click.echo(json.dumps(yamlscripts.json_schema(), indent=2))
