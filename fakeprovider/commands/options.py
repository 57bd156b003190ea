"""Options that several commands share; each decorator hands the command one finished thing."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any, TypeAlias

import click

from fakeprovider import yamlscripts
from fakeprovider.driving.gates import Gates
from fakeprovider.fitting.client_presets import PRESETS
from fakeprovider.fitting.tool_mapping import Target, ToolMapping
from fakeprovider.verdict import CLAUSES
from fakeprovider.yamlscripts import BadScripts, FileScript

Command: TypeAlias = Callable[..., None]


@dataclass(frozen=True, slots=True)
class Scripts:
    """Scripts that were read from files, which of them answers by default, and the files."""

    default: str
    read: dict[str, FileScript] = field(default_factory=dict)
    files: tuple[Path, ...] = ()


def client_options(command: Command) -> Command:
    """`--client` and `--map`; the command is given `catalogue`."""

    @click.option(
        "--client",
        type=click.Choice(list(PRESETS)),
        help="Use this client's own tools, harmlessly, and its way to end a run.",
    )
    @click.option(
        "--map",
        "mappings",
        multiple=True,
        metavar="NAME=TOOL[:JSON]",
        help="Call TOOL where the script asks for NAME and the client does not offer it.",
    )
    @wraps(command)
    def read(*args: Any, client: str | None, mappings: tuple[str, ...], **others: Any) -> None:
        preset = PRESETS[client] if client else None
        command(*args, catalogue=ToolMapping(dict(map(_mapping, mappings)), preset), **others)

    return read


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


def gate_options(command: Command) -> Command:
    """What a run is held to; the command is given `gates`."""

    @click.option(
        "--max-requests",
        type=click.IntRange(min=0),
        help="End the run at the next request after N.",
    )
    @click.option(
        "--max-tokens",
        type=click.IntRange(min=0),
        help="End the run at the next request over N tokens.",
    )
    @click.option(
        "--no-violations", is_flag=True, help="Fail if a transcript breaks the real rules."
    )
    @click.option(
        "--expect-turns",
        metavar="N|N-M",
        callback=_turns,
        help="Fail unless the script took so many turns.",
    )
    @click.option(
        "--fail-on",
        multiple=True,
        type=click.Choice([*CLAUSES, "any"]),
        metavar="CLAUSE",
        help=f"Fail if this clause of the verdict does: {', '.join(CLAUSES)}, or any.",
    )
    @click.option(
        "--allow-script-errors",
        is_flag=True,
        help="Do not fail where an expectation failed, a recording drifted or the script ran out.",
    )
    @wraps(command)
    def read(
        *args: Any,
        max_requests: int | None,
        max_tokens: int | None,
        no_violations: bool,
        expect_turns: tuple[int, int] | None,
        fail_on: tuple[str, ...],
        allow_script_errors: bool,
        **others: Any,
    ) -> None:
        gates = Gates(
            max_requests, max_tokens, no_violations, expect_turns, fail_on, allow_script_errors
        )
        command(*args, gates=gates, **others)

    return read


def _turns(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[int, int] | None:
    """The least and the most turns, from `3` or `2-5`."""
    if value is None:
        return None
    found = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", value)
    least, most = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
    if least > most:
        raise click.BadParameter(f"{value!r}: must be a number such as 3, or a range such as 2-5")
    return least, most


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


class Finite(click.FloatRange):
    """A number within bounds that is one; click takes `nan` for one in any range."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number; fails for what is none."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number
