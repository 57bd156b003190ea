"""Paths that a run must not write: such a call is denied in words, and nobody is asked about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from harness.tools import Arguments, Tool
from harness.verify.patterns import matches, relative


def protect(
    tool: Tool, patterns: Sequence[str], *, root: str | Path, argument: str = "path"
) -> Tool:
    """`tool`, denied where its `argument` names a file under `root` that fits one of `patterns`.

    It looks where a path really leads. A tool that runs commands gets round it: a `Baseline` finds
    what was changed by whatever means.
    """

    def denies(arguments: Arguments) -> str | None:
        why = tool.denied(arguments)
        path = relative(root, str(arguments.get(argument, "")))
        if why is None and path is not None and matches(path, patterns):
            why = (
                f"{path} is protected: it is what the work is checked by. Change the code instead."
            )
        return why

    return replace(tool, denies=denies)
