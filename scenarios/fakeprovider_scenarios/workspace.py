"""A throw-away directory with a few files, and a ledger of what was done to it.

No path leaves the directory: `..`, absolute paths and links that point outside are refused with
the words that an operating system would use. The ledger is a JSONL file beside the files, written
and synced before a tool returns, so that an effect is still known after a SIGKILL."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from fakeprovider_harness import PermanentToolError, Tool, ToolContext, ToolError

FILES: Mapping[str, str] = {
    "access.log": "GET / 200",
    "errors.log": "ERROR timeout: worker 7 timed out after 30000 ms\n",
    "notes.txt": "Remember to rotate the logs.",
}


class Workspace:
    """Files under `root/files` and the ledger `root/effects.jsonl`.

    Without `root` a temporary directory is made and removed again on exit; with it, the directory
    is used as it is found (a resumed run), and filled only if it is new.
    """

    def __init__(self, root: Path | None = None, files: Mapping[str, str] = FILES) -> None:
        self._temporary = root is None
        self.root = Path(tempfile.mkdtemp(prefix="scenario-")) if root is None else root
        self.files = self.root / "files"
        self.ledger = self.root / "effects.jsonl"
        if not self.files.exists():
            self.files.mkdir(parents=True)
            for name, text in files.items():
                (self.files / name).write_text(text, encoding="utf-8")

    def __enter__(self) -> Workspace:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._temporary:
            shutil.rmtree(self.root, ignore_errors=True)

    def inside(self, path: str) -> Path | None:
        """The real place of `path`, or None where it lies outside the workspace."""
        if "\0" in path:
            return None
        base = self.files.resolve()
        place = (base / path).resolve()
        return place if place.is_relative_to(base) and place != base else None

    def names(self) -> list[str]:
        """The names of the files, sorted."""
        return sorted(entry.name for entry in self.files.iterdir())

    def record(self, effect: str, target: str) -> None:
        """Append one effect to the ledger and sync it, so that a kill cannot lose it."""
        line = json.dumps({"effect": effect, "target": target}) + "\n"
        with self.ledger.open("a", encoding="utf-8") as ledger:
            ledger.write(line)
            ledger.flush()
            os.fsync(ledger.fileno())

    def effects(self) -> Iterator[tuple[str, str]]:
        """Each effect in the order in which it happened: (effect, target)."""
        if not self.ledger.exists():
            return
        for line in self.ledger.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            yield entry["effect"], entry["target"]

    def targets(self, effect: str) -> list[str]:
        """The targets of one kind of effect, in order, repeats included."""
        return [target for kind, target in self.effects() if kind == effect]


Sleep = Callable[[float], Awaitable[None]]

NO_PARAMETERS: dict[str, Any] = {"type": "object", "properties": {}}
PATH: dict[str, Any] = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "required": ["path"],
}
SCAN_FILES, SCAN_STEP, SCAN_SECONDS = 1200, 200, 0.5


def file_tools(workspace: Workspace, sleep: Sleep = asyncio.sleep) -> list[Tool]:
    """The tools of the file scenarios, in the order in which the model is told of them."""
    return [
        list_files(workspace),
        read_file(workspace),
        delete_file(workspace),
        scan_archive(workspace, sleep),
    ]


def list_files(workspace: Workspace) -> Tool:
    """Names the files of the workspace."""

    def run() -> str:
        workspace.record("listed", ".")
        return json.dumps(workspace.names(), separators=(",", ":"))

    description = "List the files in the working directory."
    return Tool("list_files", description, NO_PARAMETERS, run, read_only=True)


def read_file(workspace: Workspace) -> Tool:
    """Returns one file's text; the errors say what would help."""

    def run(path: str) -> str:
        place = workspace.inside(path)
        if place is None:
            raise PermanentToolError(f"permission denied: {path}")
        if not place.is_file():
            raise ToolError(f"no such file: {path}. Call list_files to see what exists.")
        workspace.record("read", path)
        return place.read_text(encoding="utf-8")

    description = "Read one file and return its contents."
    return Tool("read_file", description, PATH, run, read_only=True)


def delete_file(workspace: Workspace) -> Tool:
    """Deletes one file after a person has approved; each execution counts, missing file or not."""

    def run(path: str) -> str:
        place = workspace.inside(path)
        if place is None:
            raise PermanentToolError(f"permission denied: {path}")
        workspace.record("deleted", path)
        place.unlink(missing_ok=True)
        return f"Deleted {path}."

    description = "Delete one file. This cannot be undone."
    return Tool("delete_file", description, PATH, run, needs_approval=True)


def scan_archive(workspace: Workspace, sleep: Sleep = asyncio.sleep) -> Tool:
    """Takes three seconds, tells its progress every half second and heeds a cancellation."""

    async def run(ctx: ToolContext) -> str:
        for scanned in range(SCAN_STEP, SCAN_FILES + 1, SCAN_STEP):
            await sleep(SCAN_SECONDS)
            ctx.progress(f"scanned {scanned} of {SCAN_FILES} files")
        workspace.record("scanned", "archive")
        return f"Scanned {SCAN_FILES} files: 1 error, in errors.log."

    description = "Scan every file in the archive for errors. This takes a few seconds to finish."
    return Tool("scan_archive", description, NO_PARAMETERS, run, read_only=True)
