"""A tool that fails at every first try: errors alone are no reason to stop."""

from __future__ import annotations

from typing import Any

from harness import Tool, ToolError
from scenarios.scenario import Scenario
from scenarios.workspace import Workspace

PAGE: dict[str, Any] = {
    "type": "object",
    "properties": {"page": {"type": "integer"}},
    "required": ["page"],
}


def fetch_page(workspace: Workspace) -> Tool:
    """Returns a page at the second try."""
    tried: set[int] = set()

    def run(page: int) -> str:
        if page not in tried:
            tried.add(page)
            raise ToolError("the connection was lost. Try again.")
        return f"This is page {page}."

    return Tool("fetch_page", "Fetch one page.", PAGE, run, read_only=True)


SHAKY = Scenario(
    name="shaky",
    script="shaky",
    about="fetches eight pages with a tool that fails at every first try",
    expect="completed: each error is followed by a success",
    task="Read all eight pages.",
    tools=lambda workspace: [fetch_page(workspace)],
)
