"""The command line `fakeprovider`: its commands, each imported when it is called."""

from __future__ import annotations

import signal
from typing import Any

import click

from fakeprovider.commands.lazy_group import LazyGroup

_COMMANDS = {
    "serve": (
        "fakeprovider.commands.serve:serve",
        "Answer as an LLM provider that follows a script.",
    ),
    "list": (
        "fakeprovider.commands.scripts:list_scripts",
        "List the scripts, each with the first line of its description.",
    ),
    "exec": (
        "fakeprovider.commands.exec:exec_command",
        "Run COMMAND against a provider of its own, and say what it did.",
    ),
    "faults": (
        "fakeprovider.commands.faults:faults",
        "List the faults, or describe those named.",
    ),
    "check": (
        "fakeprovider.commands.scripts:check",
        "Check YAML scripts: files, or folders of them (hidden ones and node_modules left out).",
    ),
    "schema": (
        "fakeprovider.commands.scripts:schema",
        "Print the JSON Schema of YAML scripts.",
    ),
    "record": (
        "fakeprovider.commands.record:record",
        "Run COMMAND against another provider and write down what that answers, as a script.",
    ),
}
"""Where each command stands, and its line in the help, so that the help imports none of them."""


class _Commands(LazyGroup):
    """What cannot be written or read is a message, and Ctrl-C no more than an exit status."""

    def invoke(self, context: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(context)
        except KeyboardInterrupt:
            context.exit(128 + signal.SIGINT)
        except BrokenPipeError:  # whoever read the output has had enough: click ends quietly
            raise
        except OSError as error:
            raise click.ClickException(str(error)) from error


@click.group(
    cls=_Commands, lazy=_COMMANDS, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(package_name="fakeprovider")
def main() -> None:
    """A scripted fake LLM provider: real wire protocols, misbehaviour on demand.

    \b
      fakeprovider list     which scripts there are
      fakeprovider serve    run the server
      fakeprovider exec     run a command against a provider of its own, and judge it
      fakeprovider faults   what a provider can be told to get wrong
      fakeprovider check    are these YAML scripts right?
      fakeprovider schema   their JSON Schema, for editors
      fakeprovider record   write down what another provider answers, as a script
    """
