"""Ever new questions, always the same answer: no call is repeated and nothing is learnt."""

from __future__ import annotations

from typing import Any

from harness import Tool
from scenarios.scenario import Scenario
from scenarios.workspace import Workspace

WORD: dict[str, Any] = {
    "type": "object",
    "properties": {"word": {"type": "string"}},
    "required": ["word"],
}


def search_files(workspace: Workspace) -> Tool:
    """Names the files that hold a word."""

    def run(word: str) -> str:
        texts = ((entry.name, entry.read_text("utf-8")) for entry in workspace.files.iterdir())
        return ", ".join(sorted(name for name, text in texts if word in text)) or "no matches"

    description = "Name the files that contain a word."
    return Tool("search_files", description, WORD, run, read_only=True)


FRUITLESS = Scenario(
    name="fruitless",
    script="fruitless",
    about="searches for one word after another and never finds any",
    expect="stopped for lack of progress, with the last calls for a person to see",
    ends=False,
    tools=lambda workspace: [search_files(workspace)],
)
