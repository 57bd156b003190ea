"""Loops that do not get anywhere, and honest work that looks like one."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

from fakeprovider_harness import Tool, ToolError
from fakeprovider_scenarios.scenario import scenario
from fakeprovider_scenarios.workspace import Workspace

STALLED = scenario(
    name="stalled",
    shown_by="stop",
    about="falls silent on its second turn, with the socket open",
    expect="ended by the deadline, resumable; what was sent is charged",
    ends=False,
)

CYCLE = scenario(
    name="cycle",
    shown_by="stop",
    about="lists, reads one file, reads another, for ever",
    expect="found as a loop, nudged once, stopped",
    ends=False,
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


POLLING = scenario(
    name="polling",
    shown_by="stop",
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


FRUITLESS = scenario(
    name="fruitless",
    shown_by="stop",
    about="searches for one word after another and never finds any",
    expect="stopped for lack of progress, with the last calls for a person to see",
    ends=False,
    tools=lambda workspace: [search_files(workspace)],
)

EMPTY = scenario(
    name="empty",
    shown_by="stop",
    about="lists the files, then has nothing to say",
    expect="asked once more, then stopped; never completed",
    ends=False,
)

TRUNCATED = scenario(
    name="truncated",
    shown_by="stop",
    about="asks to delete a file whose name is cut off, for ever",
    expect="stopped after three; nothing is deleted",
    ends=False,
)

MALFORMED = scenario(
    name="malformed",
    shown_by="stop",
    about="sends arguments that do not parse, for ever",
    expect="stopped after three; nothing is run",
    ends=False,
)

CHATTER = scenario(
    name="chatter",
    shown_by="stop",
    about="says three hundred words with each call, for ever",
    expect="stopped by a limit on output or money",
    ends=False,
)

SPENDER = scenario(
    name="spender",
    shown_by="stop",
    about="starts three sub-agents on every turn, which do the same",
    expect="stopped by one budget for the whole tree, which is not overshot",
    ends=False,
)

FLAKY = scenario(
    name="flaky",
    shown_by="stop",
    about="answers at the third attempt only, from the second turn on",
    expect="completed with retries; without, a stop that can be resumed",
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


SHAKY = scenario(
    name="shaky",
    shown_by="stop",
    about="fetches eight pages with a tool that fails at every first try",
    expect="completed: each error is followed by a success",
    task="Read all eight pages.",
    tools=lambda workspace: [fetch_page(workspace)],
)

LINE = "GET /orders 200 in 21 ms; queue empty; worker 3 idle; cache warm; nothing to report.\n"


def files(parts: int = 99) -> Mapping[str, str]:
    """Parts of some two thousand tokens each."""
    return {f"part-{part:02}.txt": f"part {part}\n{LINE * 80}" for part in range(1, parts + 1)}


OVERFLOW = scenario(
    name="overflow",
    shown_by="stop",
    about="reads one long file after another, for ever",
    expect="stopped before the context is full, and resumable",
    ends=False,
    files=files(),
)
