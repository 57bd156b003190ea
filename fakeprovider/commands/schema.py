"""`fakeprovider schema`: the language of YAML scripts, for editors."""

from __future__ import annotations

import json

import click

from fakeprovider import yamlscripts


@click.command()
def schema() -> None:
    """Print the JSON Schema of YAML scripts.

    \b
      fakeprovider schema > script.schema.json
      # yaml-language-server: $schema=script.schema.json
    """
    click.echo(json.dumps(yamlscripts.json_schema(), indent=2))
