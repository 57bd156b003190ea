"""The command line that goes on with what a command has begun, to be pasted into a shell."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

MODULE = ["-m", "fakeprovider_harness"]
PROGRAM = "fakeprovider-harness"
BEGUN_WITH = ("resume", "every")
"""Options that say what is to be begun, which a run that goes on knows by itself."""

RAISED = {
    "max_turns": "--max-turns",
    "max_cost": "--max-cost",
    "max_tokens": "--max-tokens",
    "max_iterations": "--max-iterations",
    "max_seconds": "--max-seconds",
    "active_time": "--max-seconds",
}
"""The option behind a limit that counts over all processes of a run, by the kind of its stop."""


def advice(run_id: str | None, kind: str = "", limit: object = None) -> str:
    """How to go on with `run_id`, or with files where it is None, after a stop of this `kind`."""
    option = RAISED.get(kind)
    how = "go on with" if option is None else f"raise {option} above {limit} to go on"
    return f"{how}: {command_line(run_id)}"


def command_line(run_id: str | None) -> str:
    """This command again, with the options that were given, and `--resume RUN_ID` if there is one.

    It begins as this process did, interpreter and `-P` included.
    """
    ctx = click.get_current_context()
    words = [*program(), str(ctx.command.name)]
    if run_id is not None:
        words += ["--resume", run_id]
    for option in ctx.command.params:
        if isinstance(option, click.Option) and option.name not in BEGUN_WITH:
            words += _given(ctx, option)
    return shlex.join(words)


def program() -> list[str]:
    """How this process was started: the installed command, or up to the name of the module."""
    words = sys.orig_argv
    if Path(sys.argv[0]).stem == PROGRAM:
        return [PROGRAM if shutil.which(PROGRAM) else sys.argv[0]]
    for at in range(len(words) - 1):
        if words[at : at + 2] == MODULE:
            return words[: at + 2]
    return ["python", *MODULE]


def _given(ctx: click.Context, option: click.Option) -> Iterator[str]:
    """An option as it was given; nothing where it was not."""
    name = str(option.name)
    value: Any = ctx.params.get(name)
    source = ctx.get_parameter_source(name)
    if source is ParameterSource.ENVIRONMENT and _may_hold_a_key(str(value)):
        return
    if source not in (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT):
        return
    if option.is_flag:
        yield (option.opts if value else option.secondary_opts)[0]
        return
    for each in value if option.multiple else [value]:
        yield from (option.opts[0], _text(each))


def _may_hold_a_key(url: str) -> bool:
    """What stands in the environment may be a secret, and this is printed."""
    return "://" in url and ("@" in url or "?" in url)


def _text(value: Any) -> str:
    return f"{value:f}" if isinstance(value, Decimal) else str(value)
