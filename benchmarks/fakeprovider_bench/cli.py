"""The `bench` command."""

from __future__ import annotations

import ast
import io
import logging
import os
import pkgutil
import signal
import sys
from importlib import import_module
from importlib.util import find_spec
from types import FrameType
from typing import Any

import click

from fakeprovider_bench import commands


class Bench(click.Group):
    """Each module of `commands` is a command; it is imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(module.name for module in pkgutil.iter_modules(commands.__path__))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        import_module(f"{commands.__name__}.{cmd_name}")
        from fakeprovider_bench.options import COMMANDS

        return COMMANDS[cmd_name]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, _about(name)) for name in self.list_commands(ctx)])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self.list_commands(ctx):
            # what "did you mean" needs of a command stands in for it
            self.commands.update((known, click.Command(known)) for known in self.list_commands(ctx))
            from fakeprovider_scenarios import SCENARIOS  # late: only a mistake needs them

            if name in SCENARIOS:
                shown = SCENARIOS[name].command
                ctx.fail(f"No such command '{name}': bench {shown} runs that scenario.")
        return super().resolve_command(ctx, args)


def _about(name: str) -> str:
    """The first line of a command's module, read without importing it."""
    loader: Any = find_spec(f"{commands.__name__}.{name}").loader  # type: ignore[union-attr]
    source = loader.get_source(f"{commands.__name__}.{name}") or ""  # "": only compiled files
    return (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]


@click.group(cls=Bench, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="fakeprovider", prog_name="bench")
def cli() -> None:
    """Drive an agent loop through a scenario and tabulate what each stop policy costs.

    The scripted provider is started on a free loopback port; --base-url (or LLM_BASE_URL) points
    the harness elsewhere, and nothing else changes.

    \b
    bench runaway --cap 50                  start here
    bench list                              all scenarios, and which command runs each
    bench runaway --cap 50 --json           for machines; --csv and --markdown too
    bench runaway --cap 50 -- node agent.js your own harness, in any language
    bench plan --fail-over-cost 0.01        a gate for CI

    Exit status: 0; 1 if a --fail-over gate is crossed or no model answers; 2 for a wrong command
    line; 130 after Ctrl-C.
    """


class _Ended:
    """Turns SIGTERM into the interruption that Ctrl-C is, and remembers which it was."""

    status = 128 + signal.SIGINT

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.status = 128 + number
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's background job
            # the event loop does not take this one as its own: a task that it tears is no news
            logging.getLogger("asyncio").setLevel(logging.CRITICAL)
            raise KeyboardInterrupt
        signal.raise_signal(signal.SIGINT)


def main(args: list[str] | None = None) -> Any:
    """Run the command line; expected failures are one line on standard error, never a traceback."""
    ended = _Ended()
    signal.signal(signal.SIGTERM, ended)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that has no such character
    try:
        return cli.main(args=args, standalone_mode=False)
    except (click.exceptions.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(ended.status)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except BrokenPipeError:  # whoever read our output has gone
        _forget_output()
        sys.exit(128 + signal.SIGPIPE)
    except OSError as error:
        _forget_output()
        click.echo(f"Error: {_words(error)}", err=True)
        sys.exit(1)


def _words(error: OSError) -> str:
    """What went wrong, and with which file, where one is known."""
    words = error.strerror or str(error)
    return words if error.filename is None else f"{error.filename}: {words}"


def _forget_output() -> None:
    """Keep the interpreter from failing once more when it flushes on exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
