"""A group of commands that are imported when they are called: `--help` of the group needs none."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """A group whose commands stand in modules that are not imported before they are called.

    `lazy` maps a command's name to where it stands, as "module:attribute", and to its line in the
    group's help. A subclass that finds its commands elsewhere overrides `lazy_commands`.
    """

    def __init__(
        self, *args: Any, lazy: Mapping[str, tuple[str, str]] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._lazy = lazy or {}

    def lazy_commands(self) -> Mapping[str, tuple[str, str]]:
        """Where each command stands, and its line in the help."""
        return self._lazy

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, sorted as click sorts them."""
        return sorted(self.lazy_commands())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None where there is none of that name."""
        if cmd_name not in self.lazy_commands():
            return None
        module, _, attribute = self.lazy_commands()[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by what is known of them without an import."""
        named = {
            name: click.Command(name, help=line) for name, (_, line) in self.lazy_commands().items()
        }
        click.Group(commands=named).format_commands(ctx, formatter)
