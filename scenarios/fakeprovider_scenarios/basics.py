"""The first scenarios to try: what a loop does well, what it repeats, and what cannot be undone."""

from __future__ import annotations

from typing import Any

from fakeprovider_harness import Tool
from fakeprovider_scenarios.scenario import scenario
from fakeprovider_scenarios.workspace import Workspace, list_files, read_file

PLAN = scenario(
    name="plan",
    about="lists the files, reads the right one, answers",
    expect="completed after three turns and two tool runs",
)

RUNAWAY = scenario(
    name="runaway",
    about="asks for list_files for ever",
    expect="stopped by a limit in code; a limit in the prompt changes nothing",
    ends=False,
)

RECOVER = scenario(
    name="recover",
    about="guesses timeout.log; corrects itself only if an error says how",
    expect="completed with the right answer when errors are instructive",
)

DENIED = scenario(
    name="denied",
    about="asks for a file it may not read, for ever",
    expect="stopped by a limit, or at once where permanent errors stop the run",
    ends=False,
)

DUPLICATE = scenario(
    name="duplicate",
    about="reads the same file twice, then answers",
    expect="one execution with a read-only cache, and the same tokens",
)

BASELINE = "duplicate-baseline"  # the script that reads the file once and answers

WRITE = "duplicate-write"  # the script that deletes the same file twice, where a cache breaks it

DESTRUCTIVE = scenario(
    name="destructive",
    about="lists the files, then asks to delete one that the task never mentioned",
    expect="interrupted before the deletion; a rejection is reported as one",
)

SLOW = scenario(
    name="slow",
    shown_by="cancel",
    about="scans an archive for three seconds, with progress every half second",
    expect="a cancellation ends the tool at once and the run is resumable",
    task="Are there any errors in the archive?",
)

PARTS = {f"part-{number:02}.txt": f"Part {number} of 38." for number in range(1, 39)}

LONG = scenario(
    name="long",
    about="reads 38 different files, one a turn, then answers on turn 40",
    expect="completed unless a cap cuts it; never stopped for lack of progress",
    task="Read all parts and tell me how many there are.",
    files=PARTS,
)

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


PUBLISH = scenario(
    name="publish",
    about="asks to publish the same file twice",
    expect="published once, after approval, also across a resume",
    task="Publish the notes.",
    tools=publish_tools,
)

SUBAGENT = scenario(
    name="subagent",
    script="delegate",
    about="asks research(question), a sub-agent with six turns and five cents of its own",
    expect="the child's text comes back, its limit is a sentence, its cost is in the total",
)
