"""A job that takes its time: asking again and again is the right thing to do."""

from __future__ import annotations

from itertools import count
from typing import Any

from harness import Tool
from scenarios.scenario import Scenario
from scenarios.workspace import Workspace

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
