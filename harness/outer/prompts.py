"""What a loop says when it was given nothing to say."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from harness.outer.plan import read_text

NAME = "loop.md"
MAINTENANCE = (
    "Go on with unfinished work of this conversation, if there is any. Else look after the "
    "branch's pull request: new review comments, failing checks, conflicts. Else clean up: look "
    "for one small fault or one thing that can be simplified, and propose it. Start nothing new, "
    "and change nothing that cannot be undone without asking. If there is nothing to do, say so."
)


def loop_prompt(
    project: str | Path, environment: Mapping[str, str] | None = None
) -> tuple[str, str]:
    """The prompt of a loop without one, and where it is from.

    The project's `loop.md`, else the user's (`$XDG_CONFIG_HOME/harness/loop.md`, by default under
    `~/.config`), else one for maintenance that is built in. An empty file counts as none. Raises
    `ValueError` for a file that is no text.
    """
    environ = os.environ if environment is None else environment
    home = Path(environ.get("HOME", "~")).expanduser()
    config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    for place in (Path(project) / NAME, config / "harness" / NAME):
        if place.is_file() and (text := read_text(place).strip()):
            return text, str(place)
    return MAINTENANCE, "built in"
