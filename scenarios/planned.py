"""A project with a plan file, for loops around the loop: each item is a file to be written."""

from __future__ import annotations

from collections.abc import Mapping

from harness import Tool
from harness.verify import Claim, Verdict, failed, passed
from scenarios.coding import write_file
from scenarios.scenario import Scenario
from scenarios.tools import list_files, read_file
from scenarios.workspace import Workspace

ITEMS = ("write alpha.txt", "write beta.txt", "write gamma.txt")
FILES: Mapping[str, str] = {
    "plan.md": "# Plan, the most urgent first\n\n" + "".join(f"- [ ] {item}\n" for item in ITEMS),
}
SYSTEM = "You work on a small project with the tools you have, item by item of plan.md."


def planned_tools(workspace: Workspace) -> list[Tool]:
    """Reading and writing."""
    return [list_files(workspace), read_file(workspace), write_file(workspace)]


def works(workspace: Workspace, claim: Claim) -> Verdict:
    """Passes while every ticked item's file is there."""
    text = (workspace.files / "plan.md").read_text(encoding="utf-8")
    ticked = [item for item in ITEMS if f"- [x] {item}" in text]
    missing = [item for item in ticked if not (workspace.files / item.split()[1]).exists()]
    if missing:
        return failed(f"ticked but not done: {', '.join(missing)}")
    return passed(ticked=len(ticked))


def finished(workspace: Workspace, claim: Claim) -> Verdict:
    """Passes when every item's file is there."""
    missing = [item for item in ITEMS if not (workspace.files / item.split()[1]).exists()]
    if missing:
        return failed(f"not done: {', '.join(missing)}", measure=len(missing))
    return passed(measure=0)


PLANNED = Scenario(
    name="planned",
    script="worker",
    about="does one item of a plan file each time it is asked",
    expect="the plan is empty after three rounds, and every item's file is there",
    task="Do the items of plan.md, the first open one first.",
    system=SYSTEM,
    files=FILES,
    tools=planned_tools,
)
