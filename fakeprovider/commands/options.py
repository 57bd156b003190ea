"""Options that several commands share: which scripts there are, and for which client."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import click

from fakeprovider import yamlscripts
from fakeprovider.catalogue import Catalogue, Target
from fakeprovider.presets import PRESETS
from fakeprovider.yamlscripts import BadScripts, FileScript

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Scripts:
    """Scripts that were read from files, and which script answers by default."""

    default: str
    read: dict[str, FileScript] = field(default_factory=dict)


def client_options(command: F) -> F:
    """`--client` and `--map`, to be given to `catalogue`."""
    command = click.option(
        "--map",
        "mappings",
        multiple=True,
        metavar="NAME=TOOL[:JSON]",
        help="Call TOOL where the script asks for NAME and the client does not offer it.",
    )(command)
    return click.option(
        "--client",
        type=click.Choice(list(PRESETS)),
        help="Use this client's own tools, harmlessly, and its way to end a run.",
    )(command)


def catalogue(client: str | None, mappings: Sequence[str]) -> Catalogue:
    """The catalogue that the options describe; raises click's usage error."""
    tools = dict(map(_mapping, mappings))
    return Catalogue(tools, PRESETS[client] if client else None)


def _mapping(written: str) -> tuple[str, Target]:
    asked, equals, target = written.partition("=")
    tool, colon, arguments = target.partition(":")
    if not (equals and asked and tool):
        raise click.UsageError(f"--map {written!r}: must be NAME=TOOL or NAME=TOOL:JSON")
    if not colon:
        return asked, Target(tool)
    try:
        value = json.loads(arguments)
    except ValueError as error:
        raise click.UsageError(f"--map {written!r}: {arguments!r} is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise click.UsageError(f"--map {written!r}: the arguments must be a JSON object")
    return asked, Target(tool, value)


def scripts(script: str | None, paths: Sequence[Path]) -> Scripts:
    """The scripts of files and folders; `script` is a name, or a file of its own.

    The default is `script`, else the only script that was read, else plan. Raises click's errors.
    """
    read: dict[str, FileScript] = {}
    name, _, parameters = (script or "").partition(";")
    own = Path(name) if name.endswith((".yaml", ".yml")) else None
    for path in [*paths, *([own] if own else [])]:
        read.update(load(path))
    if own is not None:
        found = load(own)
        name = next(iter(found))
    elif not script:
        name = next(iter(read)) if len(read) == 1 else "plan"
    return Scripts(f"{name};{parameters}" if parameters else name, read)


def load(path: Path) -> dict[str, FileScript]:
    """The scripts of a file or folder; raises click's error, with every problem on a line."""
    try:
        return yamlscripts.load(path)
    except BadScripts as error:
        raise click.ClickException(f"not all scripts are right\n{error}") from error
    except OSError as error:
        raise click.ClickException(f"cannot read {path}: {error.strerror}") from error
