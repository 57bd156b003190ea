"""`python -m fakeprovider_harness`: the loop, and the loops around it, on a real endpoint."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import click

INTERRUPTED = 130  # what a shell reports of a command that Ctrl-C ended

COMMANDS = {
    "goal": (
        "outer_loops:goal_command",
        "Work on TEXT until an evaluator says it is reached.",
    ),
    "loop": ("outer_loops:loop_command", "Say PROMPT again and again in one conversation."),
    "ralph": ("outer_loops:ralph_command", "The same prompt to a fresh run each time."),
    "run": ("run:run", "One run on TASK, with tools over a directory."),
}
"""Where each command stands in this folder, and its line in the help."""


class Commands(click.Group):
    """Commands that are imported when they are called, so that help is there at once.

    `--resume RUN_ID` without a command is `run --resume RUN_ID`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # what "did you mean" needs of a command stands in for it
        self.commands.update({name: click.Command(name) for name in COMMANDS})

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and (args[0] == "--resume" or args[0].startswith("--resume=")):
            args = ["run", *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(
            import_module(f"fakeprovider_harness.commands.{module}"), attribute
        )
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Run an agent on a project: once, item by item, again and again, or until a goal is met.

    Progress and questions are on standard error, the answer is on standard output. Every run is
    kept: `--resume RUN_ID` goes on with it, also after Ctrl-C or a crash.

    Exit status: 0 done; 1 stopped short of it; 2 wrong command line; 130 Ctrl-C.
    """


def main(args: list[str] | None = None) -> Any:
    """Run the command line; an expected failure is one line on standard error, no traceback."""
    try:
        return cli.main(args=args, prog_name="fakeprovider-harness", standalone_mode=False)
    except click.exceptions.Exit as ended:
        sys.exit(ended.exit_code)
    except (click.exceptions.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except Exception as error:
        if not isinstance(error, (OSError, _database_error())):
            raise
        click.echo(f"Error: {error}", err=True)
        sys.exit(1)


def _database_error() -> type[Exception]:
    """The error of SQLite if a command has loaded it: help must not."""
    sqlite3 = sys.modules.get("sqlite3")
    return OSError if sqlite3 is None else sqlite3.Error
