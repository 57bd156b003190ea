"""A group of commands that are imported when they are called: `--help` of the group needs none."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """A group whose commands stand in modules that are not imported before they are called.

    `lazy` maps a command's name to where it stands, as "module:attribute", and to its line in the
    group's help.
    """

    def __init__(
        self, *args: Any, lazy: Mapping[str, tuple[str, str]] | None = None, **kwargs: Any
    ) -> None:
        self.lazy = lazy or {}
        super().__init__(*args, **kwargs)
        # what help and "did you mean" need of a command stands in for it
        self.commands.update(
            (name, click.Command(name, help=line)) for name, (_, line) in self.lazy.items()
        )

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None where there is none of that name."""
        if cmd_name not in self.lazy:
            return None
        module, _, attribute = self.lazy[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by what is known of them without an import."""
        click.Group(commands=self.commands).format_commands(ctx, formatter)
