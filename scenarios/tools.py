"""The four tools over a workspace: two that read, one that deletes, one that takes its time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from harness import PermanentToolError, Tool, ToolContext, ToolError
from scenarios.workspace import Workspace

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
