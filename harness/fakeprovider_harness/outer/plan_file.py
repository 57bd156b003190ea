"""A plan file: a Markdown list of items by priority, `- [ ]` open and `- [x]` done."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from pathlib import Path

_ITEM = re.compile(r"^(\s*[-*+] \[)([ xX])(\] )(.+?)\s*$", re.M)


class PlanFile:
    """The list in the file `path`; the file is read anew each time, since the agent changes it."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def items(self) -> list[tuple[str, bool]]:
        """Each item in order, and whether it is ticked; raises `ValueError` without the file."""
        try:
            text = read_text(self.path)
        except OSError as error:
            raise ValueError(
                f"no plan: write {self.path} with a line like “- [ ] parse dates” per item, "
                "the most urgent first"
            ) from error
        return [(found.group(4), found.group(2) != " ") for found in _ITEM.finditer(text)]

    def refuse_empty(self) -> None:
        """Raise `ValueError` where nothing in the file is an item: it cannot be worked off."""
        if not self.items():
            raise ValueError(
                f"no item was found in {self.path}: write a line like “- [ ] parse dates” per "
                "item, the most urgent first; “- [x]” is one that is done"
            )

    def open(self) -> list[str]:
        """The items that are not ticked, in order."""
        return [item for item, done in self.items() if not done]

    def done(self) -> list[str]:
        """The items that are ticked, in order."""
        return [item for item, done in self.items() if done]

    def reopen(self, items: Collection[str]) -> None:
        """Take the tick off `items`; the rest of the file stays as it is."""

        def untick(found: re.Match[str]) -> str:
            mark = " " if found.group(4) in items else found.group(2)
            return f"{found.group(1)}{mark}{found.group(3)}{found.group(4)}"

        text = read_text(self.path)
        write(self.path, _ITEM.sub(untick, text).encode())


def read_text(path: Path) -> str:
    """The text of a file; raises `ValueError` where it is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no text in UTF-8: {error}") from error


def write(path: Path, data: bytes) -> None:
    """Replace a file in one step and on the disk: a kill leaves the old one or the new one."""
    half = path.with_name(f".{path.name}.new")
    with half.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(half, path)
