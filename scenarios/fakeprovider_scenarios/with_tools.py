"""An irreversible public effect, asked for twice: it happens once, after approval."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

from fakeprovider_harness import Tool, ToolError
from fakeprovider_scenarios.scenario import Scenario
from fakeprovider_scenarios.workspace import Workspace, list_files, read_file

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


STEPS = 8
JOB: dict[str, Any] = {
    "type": "object",
    "properties": {"job": {"type": "integer"}},
    "required": ["job"],
}


def job_status(workspace: Workspace) -> Tool:
    """Says how far a job is: one step further each time it is asked."""
    steps = count(1)

    def run(job: int) -> str:
        step = next(steps)
        return "done" if step >= STEPS else f"running, {100 * step // STEPS} %"

    description = "Say how far a job is."
    return Tool("job_status", description, JOB, run, read_only=True, polling=True)


POLLING = Scenario(
    name="polling",
    script="polling",
    about="asks how far a job is until it is done",
    expect="completed: the same call with another answer is no loop",
    task="Tell me when job 1 is done.",
    tools=lambda workspace: [job_status(workspace)],
)


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


LINE = "GET /orders 200 in 21 ms; queue empty; worker 3 idle; cache warm; nothing to report.\n"


def files(parts: int = 99) -> Mapping[str, str]:
    """Parts of some two thousand tokens each."""
    return {f"part-{part:02}.txt": f"part {part}\n{LINE * 80}" for part in range(1, parts + 1)}


OVERFLOW = Scenario(
    name="overflow",
    script="overflow",
    about="reads one long file after another, for ever",
    expect="stopped before the context is full, and resumable",
    ends=False,
    files=files(),
)
