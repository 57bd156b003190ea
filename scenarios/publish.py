"""An irreversible public effect, asked for twice: it happens once, after approval."""

from __future__ import annotations

from typing import Any

from harness import Tool
from scenarios.scenario import Scenario
from scenarios.tools import list_files, read_file
from scenarios.workspace import Workspace

NOTE: dict[str, Any] = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "required": ["path"],
}


def publish(workspace: Workspace) -> Tool:
    """Publishes a file; each execution counts, since a public effect cannot be taken back."""

    def run(path: str) -> str:
        workspace.record("published", path)
        return f"Published {path}."

    description = "Publish one file where everybody can read it. This cannot be undone."
    return Tool("publish", description, NOTE, run, needs_approval=True)


def publish_tools(workspace: Workspace) -> list[Tool]:
    """The reading tools and `publish`."""
    return [list_files(workspace), read_file(workspace), publish(workspace)]


PUBLISH = Scenario(
    name="publish",
    script="publish",
    about="asks to publish the same file twice",
    expect="published once, after approval, also across a resume",
    task="Publish the notes.",
    tools=publish_tools,
)
