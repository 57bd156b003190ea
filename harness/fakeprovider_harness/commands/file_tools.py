"""Tools over one directory for a person's own runs: reading is free, the rest is asked about."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fakeprovider_harness.tooling.process import run_process
from fakeprovider_harness.tooling.truncation import ends
from fakeprovider_harness.tools import PermanentToolError, Tool, ToolContext, ToolError
from fakeprovider_harness.verify.baseline import NOISE, matches, protect, relative

NAMES = 500
SECONDS = 600
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}


def _object(*names: str) -> dict[str, Any]:
    properties = {name: {"type": "string"} for name in names}
    return {"type": "object", "properties": properties, "required": list(names)}


def hands(root: Path, *, ask: bool = True, protected: Sequence[str] = ()) -> list[Tool]:
    """The tools; `ask` has a person decide on each write and command.

    No path leads out of `root`, links followed. A command can do what its user can: this is no
    sandbox.
    """
    writing = write_file(root, ask)
    if protected:
        writing = protect(writing, protected, root=root)
    return [list_files(root), read_file(root), writing, run_command(root, ask)]


def list_files(root: Path) -> Tool:
    """The files under the directory, as relative paths."""

    def run() -> str:
        found = sorted(
            path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()
        )
        names = [name for name in found if not matches(name, (*NOISE, ".ralph/*"))]
        more = f"\n({len(names) - NAMES} more)" if len(names) > NAMES else ""
        return json.dumps(names[:NAMES]) + more

    return Tool("list_files", "List the files of the project.", NOTHING, run, read_only=True)


def read_file(root: Path) -> Tool:
    """One file's text."""

    def run(path: str) -> str:
        place = _inside(root, path)
        if not place.is_file():
            raise ToolError(f"no such file: {path}. Call list_files to see what exists.")
        with place.open("rb") as file:
            return ends(file)

    about = "Read one file and return its contents; of a very long one, both ends."
    return Tool("read_file", about, _object("path"), run, read_only=True)


def write_file(root: Path, ask: bool) -> Tool:
    """Replaces one file."""

    def run(path: str, text: str) -> str:
        place = _inside(root, path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
        return f"Wrote {len(text)} characters to {path}."

    about = "Replace one file with the given text."
    return Tool("write_file", about, _object("path", "text"), run, needs_approval=ask)


def run_command(root: Path, ask: bool) -> Tool:
    """Runs a shell command in the directory, without provider keys in its environment."""

    def run(command: str, ctx: ToolContext) -> str:
        finished = run_process(
            ["sh", "-c", command], cwd=root, cancel=ctx.cancel, timeout=SECONDS, limit=20_000
        )
        if finished.timed_out:
            raise ToolError(f"it did not end within {SECONDS} s: {finished.output[-500:]}")
        return f"exit status {finished.status}\n{finished.output}"

    about = "Run a shell command in the project's directory; returns its exit status and output."
    return Tool("run_command", about, _object("command"), run, needs_approval=ask)


def _inside(root: Path, path: str) -> Path:
    place = relative(root, path)
    if place is None:
        raise PermanentToolError(f"permission denied: {path} is outside of the project")
    return root / place
