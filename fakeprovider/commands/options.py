"""Options that several commands share: each group hands the command one finished thing."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any, TypeAlias

import click

from fakeprovider import pacing, yamlscripts
from fakeprovider.driving.gates import Gates
from fakeprovider.faults import BadFault, Chaos, plan
from fakeprovider.faults.selection import MOST_SEED
from fakeprovider.fitting.client_presets import PRESETS
from fakeprovider.fitting.tool_mapping import Target, ToolMapping
from fakeprovider.replies import Fault, Pace
from fakeprovider.settings import Settings
from fakeprovider.verdict import CLAUSES
from fakeprovider.yamlscripts import BadScripts, FileScript

Command: TypeAlias = Callable[..., None]


class Finite(click.FloatRange):
    """A finite number within bounds; click's own range lets `nan` pass."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number; fails for what is not one."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


def gathered(
    name: str, make: Callable[..., Any], *options: Callable[[Command], Command]
) -> Callable[[Command], Command]:
    """A decorator of several options, whose values `make` turns into one argument `name`.

    The parameters of `make` are the names of the options.
    """

    def decorate(command: Command) -> Command:
        @wraps(command)
        def gather(*args: Any, **values: Any) -> None:
            own = {option: values.pop(option) for option in signature(make).parameters}
            command(*args, **values, **{name: make(**own)})

        decorated: Command = gather
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


def _catalogue(client: str | None, mappings: tuple[str, ...]) -> ToolMapping:
    return ToolMapping(dict(map(_mapping, mappings)), PRESETS[client] if client else None)


def _mapping(written: str) -> tuple[str, Target]:
    name, equals, target = written.partition("=")
    tool, colon, arguments = target.partition(":")
    if not (equals and name and tool):
        raise click.UsageError(f"--map {written!r}: must be NAME=TOOL or NAME=TOOL:JSON")
    if not colon:
        return name, Target(tool)
    try:
        value = json.loads(arguments)
    except ValueError as error:
        raise click.UsageError(f"--map {written!r}: {arguments!r} is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise click.UsageError(f"--map {written!r}: the arguments must be a JSON object")
    return name, Target(tool, value)


client_options = gathered(
    "catalogue",
    _catalogue,
    click.option(
        "--client",
        type=click.Choice(list(PRESETS)),
        help="Use this client's own tools, harmlessly, and its way to end a run.",
    ),
    click.option(
        "--map",
        "mappings",
        multiple=True,
        metavar="NAME=TOOL[:JSON]",
        help="Call TOOL where the script asks for NAME and the client does not offer it.",
    ),
)
"""`--client` and `--map`: how calls are fitted to the client's tools."""


def _turns(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[int, int] | None:
    """The least and the most turns, from `3` or `2-5`."""
    if value is None:
        return None
    match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", value)
    least, most = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
    if least > most:
        raise click.BadParameter(f"{value!r}: must be a number such as 3, or a range such as 2-5")
    return least, most


gate_options = gathered(
    "gates",
    Gates,
    click.option(
        "--max-requests",
        type=click.IntRange(min=0),
        help="End the run at the next request after N.",
    ),
    click.option(
        "--max-tokens",
        type=click.IntRange(min=0),
        help="End the run at the next request over N tokens.",
    ),
    click.option(
        "--no-violations", is_flag=True, help="Fail if a transcript breaks the real rules."
    ),
    click.option(
        "--expect-turns",
        metavar="N|N-M",
        callback=_turns,
        help="Fail unless the script took so many turns.",
    ),
    click.option(
        "--fail-on",
        multiple=True,
        type=click.Choice([*CLAUSES, "any"]),
        metavar="CLAUSE",
        help=f"Fail if this clause of the verdict does: {', '.join(CLAUSES)}, or any.",
    ),
    click.option(
        "--allow-script-errors",
        is_flag=True,
        help="Do not fail where an expectation failed, a recording drifted or the script ran out.",
    ),
)
"""What a run is held to."""

journal_option = click.option(
    "--journal",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to append every exchange to, a line of JSON each.",
)
"""`--journal`: a file for the exchanges."""


def _trouble(
    fault: tuple[str, ...],
    chaos: float | None,
    seed: int | None,
    pace: str | None,
    latency: float | None,
) -> Settings:
    faults = tuple(map(_fault, fault))
    if seed is not None and chaos is None:
        raise click.UsageError("--seed needs --chaos SHARE beside it")
    drawn = None if chaos is None else Chaos(chaos, seed or 0)
    return Settings(faults=faults, chaos=drawn, pace=_pace(pace, latency))


def _fault(written: str) -> Fault:
    name, *pairs = written.split(",")
    words: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or key in words:
            raise click.UsageError(f"--fault {written!r}: {pair!r} must be PARAM=VALUE, once each")
        words[key] = value
    try:
        plan(name, words)
    except BadFault as error:
        raise click.UsageError(str(error)) from error
    return Fault(name, words)


def _pace(profile: str | None, latency: float | None) -> Pace | None:
    words = {} if profile is None else {"pace": profile}
    if latency is not None:
        words["latency"] = str(latency)
    try:
        return pacing.read(words)
    except pacing.BadPace as error:
        raise click.UsageError(str(error)) from error


trouble_options = gathered(
    "settings",
    _trouble,
    click.option(
        "--fault",
        multiple=True,
        metavar="NAME[,PARAM=VALUE...]",
        help="Get this wrong, e.g. rate_limited,turn=3,times=2; see `fakeprovider faults`.",
    ),
    click.option(
        "--chaos",
        type=Finite(0, 1),
        metavar="SHARE",
        help="Draw faults at random for this share of attempts (0 to 1), the same ones each time.",
    ),
    click.option(
        "--seed",
        type=click.IntRange(0, MOST_SEED - 1),
        help="Which of the draws of --chaos; 0 if nothing is said.",
    ),
    click.option(
        "--pace", type=click.Choice(list(pacing.PROFILES)), help="Reply as fast as this service."
    ),
    click.option("--latency", type=Finite(0), metavar="MS", help="Wait before the first token."),
)
"""`--fault`, `--chaos`, `--seed`, `--pace`, `--latency`: how a server is told to misbehave."""


@dataclass(frozen=True, slots=True)
class Scripts:
    """Scripts that were read from files, which of them answers by default, and the files."""

    default: str
    read: dict[str, FileScript] = field(default_factory=dict)
    files: tuple[Path, ...] = ()


def scripts(script: str | None, paths: Sequence[Path]) -> Scripts:
    """The scripts of files and folders; `script` is a name, or a file of its own.

    The default is `script`, else the only script that was read, else plan. Raises click's errors.
    """
    name, _, parameters = (script or "").partition(";")
    files = tuple(paths)
    read: dict[str, FileScript] = {}
    for path in paths:
        read.update(load(path))
    if name.endswith((".yaml", ".yml")):
        files += (Path(name),)
        own = load(Path(name))
        read.update(own)
        name = next(iter(own))
    elif not name:
        name = next(iter(read)) if len(read) == 1 else "plan"
    return Scripts(f"{name};{parameters}" if parameters else name, read, files)


def load(path: Path) -> dict[str, FileScript]:
    """The scripts of a file or folder; raises click's error, with every problem on a line."""
    try:
        return yamlscripts.load(path)
    except BadScripts as error:
        raise click.ClickException(f"not all scripts are right\n{error}") from error
    except OSError as error:
        raise click.ClickException(f"cannot read {path}: {error.strerror}") from error


def check_folder(output: Path) -> None:
    """A usage error for a file that cannot be written when the time has come."""
    folder = output.parent
    if not folder.is_dir():
        raise click.UsageError(f"cannot write {output}: there is no folder {folder}")
    if not os.access(output if output.exists() else folder, os.W_OK):
        why = "the disk is read-only" if _read_only(folder) else "permission denied"
        raise click.UsageError(f"cannot write {output}: {why}")


def _read_only(folder: Path) -> bool:
    """Whether nobody can write there (POSIX)."""
    return hasattr(os, "statvfs") and bool(os.statvfs(folder).f_flag & os.ST_RDONLY)


def check_writable(journal: Path | None) -> None:
    """A usage error for a journal that cannot be appended to."""
    if journal is not None and (journal.is_file() or not journal.exists()):  # a pipe opens once
        try:
            journal.open("ab").close()
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise click.UsageError(f"cannot write the journal {journal}: {why}") from error
