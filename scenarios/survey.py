"""One long task of many equal parts: what the history costs, and what each way to cut it loses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness import RunState, Tool
from scenarios.scenario import Scenario
from scenarios.tools import read_file
from scenarios.workspace import Workspace

PARTS = 40
SYSTEM = (
    "You count failures in the logs of one directory. The logs are part-01.log, part-02.log and so "
    "on. Read one after the other with the tools you have; do not guess."
)
FILLER = "GET /health 200 in 3 ms; GET /orders 200 in 21 ms; queue empty; worker 3 idle. "
NOTES = "notes.txt"
NOTE: dict[str, Any] = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
}


def failures(part: int) -> int:
    """How many failures part `part` holds: known in advance, so that an answer can be checked."""
    return part * 7 % 31 + 1


def files(parts: int) -> Mapping[str, str]:
    """The logs, a line of facts and some that say nothing in each."""
    return {
        f"part-{part:02}.log": f"log {part}: {failures(part)} failures\n{FILLER * 12}"
        for part in range(1, parts + 1)
    }


def total(parts: int) -> int:
    """The right answer."""
    return sum(map(failures, range(1, parts + 1)))


def take_note(workspace: Workspace) -> Tool:
    """Appends a line to the notes, which outlive the conversation."""

    def run(text: str) -> str:
        workspace.record("noted", text)
        with (workspace.files / NOTES).open("a", encoding="utf-8") as notes:
            notes.write(text + "\n")
        return "Noted."

    return Tool("note", "Append a line to your notes.", NOTE, run, idempotent=False)


def notes(workspace: Workspace, state: RunState) -> str:
    """What the run has noted so far, to begin a fresh context with."""
    place = workspace.files / NOTES
    return f"Your notes so far:\n{place.read_text(encoding='utf-8')}" if place.exists() else ""


def survey(parts: int = PARTS, script: str = "survey") -> Scenario:
    """The task with so many parts."""
    return Scenario(
        name="survey",
        script=script,
        about=f"reads {parts} logs one by one and adds up what they say",
        expect="completed; what is left out of the prompts decides whether the sum is right",
        task=f"How many failures are there in all {parts} logs together?",
        system=SYSTEM,
        files=files(parts),
        tools=lambda workspace: [read_file(workspace)],
    )


SURVEY = survey()
