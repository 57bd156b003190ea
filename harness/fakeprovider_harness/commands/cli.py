"""`python -m fakeprovider_harness`: the loop, and the loops around it, on a real endpoint."""

from __future__ import annotations

import sqlite3
import sys
from typing import Any

import click

from fakeprovider_harness.commands.outer_loops import goal_command, loop_command, ralph_command
from fakeprovider_harness.commands.run import run
from fakeprovider_harness.commands.session import INTERRUPTED


class Resuming(click.Group):
    """`--resume RUN_ID` without a command is `run --resume RUN_ID`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and (args[0] == "--resume" or args[0].startswith("--resume=")):
            args = ["run", *args]
        return super().parse_args(ctx, args)


@click.group(cls=Resuming, context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Run an agent on a project: once, item by item, again and again, or until a goal is met.

    Progress and questions are on standard error, the answer is on standard output. Every run is
    kept: `--resume RUN_ID` goes on with it, also after Ctrl-C or a crash.

    Exit status: 0 done; 1 stopped short of it; 2 wrong command line; 130 Ctrl-C.
    """


for command in (run, ralph_command, loop_command, goal_command):
    cli.add_command(command)


def main(args: list[str] | None = None) -> Any:
    """Run the command line; an expected failure is one line on standard error, no traceback."""
    try:
        return cli.main(args=args, prog_name="fakeprovider-harness", standalone_mode=False)
    except click.exceptions.Exit as ended:
        sys.exit(ended.exit_code)
    except (click.exceptions.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(INTERRUPTED)
    except (OSError, sqlite3.Error) as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(1)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
