"""`fakeprovider faults`: the faults, as a list or one in full."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import click

from fakeprovider.faults import FAULTS, Kind, find
from fakeprovider.faults.kind import BadFault, Param

_HELP = """List the faults, or describe those named.

\b
Ask for one in a base URL, on the server, in Python or in YAML:
  http://127.0.0.1:8080/runaway;fault=rate_limited,turn=3,times=2/v1
  fakeprovider serve --fault rate_limited,turn=3,times=2
  say("...", ...) with fault=Fault("rate_limited", {"times": 2})
  fault: {name: rate_limited, times: 2}
`turn` is a turn from 0 on, or a range (2-5, 3-); `times` is how many attempts of it fail.
"""


@click.command("faults", help=_HELP)
@click.argument("names", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="As JSON: names, lines, sources, parameters.")
def faults(names: tuple[str, ...], as_json: bool) -> None:
    try:
        kinds = [find(name) for name in names] if names else list(FAULTS.values())
    except BadFault as error:
        raise click.ClickException(str(error)) from error
    if as_json:
        click.echo(json.dumps({"faults": [described(kind) for kind in kinds]}))
        return
    for line in _in_full(kinds) if names else _listed(kinds):
        click.echo(line)


def described(kind: Kind) -> dict[str, Any]:
    """A fault as data."""
    return {
        "name": kind.name,
        "group": kind.group,
        "line": kind.line,
        "source": kind.source,
        "params": [_param(param) for param in kind.params],
        "dialects": sorted(kind.dialects),
        "forms": sorted(kind.forms),
        "needs": kind.needs,
        "breaks": kind.breaks,
        "chaos": kind.chaos,
        "applied": applied(kind),
    }


def applied(kind: Kind) -> list[str]:
    """Where it is applied, in order: on the reply, its bytes, its events, the steps sent."""
    hooks = {
        "in place of the reply": kind.error,
        "reply": kind.reply,
        "body": kind.whole,
        "events": kind.stream,
        "sending": kind.steps,
        "count": kind.count,
    }
    return [name for name, hook in hooks.items() if hook is not None]


def _param(param: Param) -> dict[str, Any]:
    return {
        "name": param.name,
        "default": param.default,
        "line": param.line,
        "choices": list(param.choices),
    }


def _listed(kinds: list[Kind]) -> Iterator[str]:
    """One line each, with the source under it."""
    width = max(len(kind.name) for kind in kinds)
    for group, members in groupby(kinds, key=lambda kind: kind.group):
        yield f"{group}:"
        for kind in members:
            yield f"  {kind.name:{width}}  {kind.line}"
            yield f"  {'':{width}}  {kind.source}"


def _in_full(kinds: list[Kind]) -> Iterator[str]:
    for kind in kinds:
        yield f"{kind.name}: {kind.line}"
        yield f"  seen in: {kind.source}"
        yield f"  dialects: {', '.join(sorted(kind.dialects))}; {', '.join(sorted(kind.forms))}"
        if kind.needs:
            yield f"  needs {kind.needs}"
        for param in kind.params:
            choices = f" ({', '.join(param.choices)})" if param.choices else ""
            yield f"  {param.name}={param.default}: {param.line}{choices}"
