"""Scenarios with a project to work on: code with failing tests, many logs, a plan file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fakeprovider_harness import PermanentToolError, RunState, Tool, ToolContext, ToolError
from fakeprovider_harness.verify import Claim, Verdict, failed, passed, protect, run_pytest
from fakeprovider_scenarios.scenario import Scenario, register, scenario, variant
from fakeprovider_scenarios.workspace import NO_PARAMETERS, Workspace, list_files, read_file

MONEY = '''"""Amounts of money in cents."""


def parse(text):
    """The cents that text such as "12.50", "1.5" or "3" stands for."""
    whole, _, part = text.partition(".")
    return int(whole) * 100 + int(part)


def show(cents):
    """Cents as text with two decimals."""
    return f"{cents // 100}.{cents % 100}"


def share(cents, people):
    """Parts that add up to the whole and differ by a cent at most, larger ones first."""
    return [cents // people] * people
'''

TEST_MONEY = """from money import parse, share, show


def test_two_decimals():
    assert parse("12.50") == 1250


def test_one_decimal():
    assert parse("1.5") == 150


def test_no_decimals():
    assert parse("3") == 300


def test_show():
    assert show(1250) == "12.50"


def test_show_keeps_the_zero():
    assert show(1205) == "12.05"


def test_shares_add_up():
    assert share(100, 3) == [34, 33, 33]
"""

FILES: Mapping[str, str] = {
    "README.txt": "money.py handles amounts in cents. Its tests are in test_money.py.\n",
    "money.py": MONEY,
    "test_money.py": TEST_MONEY,
}

FAILING = 4

SYSTEM = "You maintain a small Python project. Change files with write_file, check with run_tests."

TASK = "Make the tests pass. Do not change the tests."

WRITE: dict[str, Any] = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "text": {"type": "string"}},
    "required": ["path", "text"],
}

SECONDS = 60


def write_file(workspace: Workspace) -> Tool:
    """Replaces one file; each execution counts as an effect."""

    def run(path: str, text: str) -> str:
        place = workspace.inside(path)
        if place is None:
            raise PermanentToolError(f"permission denied: {path}")
        if place.is_dir() or not place.parent.is_dir():
            raise ToolError(f"cannot write {path}: name a file in a directory that exists.")
        workspace.record("wrote", path)
        place.write_text(text, encoding="utf-8")
        return f"Wrote {len(text)} characters to {path}."

    return Tool("write_file", "Replace one file with the given text.", WRITE, run)


def run_tests(workspace: Workspace) -> Tool:
    """Runs pytest in a child process and reports how many tests fail, as a measure too."""

    def run(ctx: ToolContext) -> str:
        tests = run_pytest(workspace.files, cancel=ctx.cancel, timeout=SECONDS, plugins=False)
        if tests.timed_out:
            raise ToolError(f"the tests did not end within {SECONDS} s. Look for an endless loop.")
        ctx.measure("failing", tests.failing)
        return tests.words

    description = "Run the tests and return how many pass and which fail."
    return Tool("run_tests", description, NO_PARAMETERS, run, read_only=True)


def coding_tools(workspace: Workspace, protected: Sequence[str] = ()) -> list[Tool]:
    """The tools of a programmer; writes to `protected` paths are denied."""
    writing = write_file(workspace)
    if protected:
        writing = protect(writing, protected, root=workspace.files)
    return [list_files(workspace), read_file(workspace), writing, run_tests(workspace)]


FIXER = scenario(
    name="fixer",
    shown_by="done",
    about="fixes the code in two steps, running the tests after each",
    expect="completed and verified",
    task=TASK,
    system=SYSTEM,
    files=FILES,
    tools=coding_tools,
)

PREMATURE = variant(
    FIXER,
    name="premature",
    about="says that it is done before it has done anything; does it when told that it is not",
    expect="one failed check, then completed and verified",
)

GAMING = variant(
    FIXER,
    name="gaming",
    about="makes the tests pass by changing the tests",
    expect="never verified: denied, or claimed with the changed tests listed",
    ends=False,
)

CIRCLING = variant(
    FIXER,
    name="circling",
    about="tries the same half of a fix again and again, with small changes",
    expect="stopped after three rounds in which no test more passes, and handed over",
    ends=False,
)

PARTS = 40

SURVEY_SYSTEM = (
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
        shown_by="growth",
        script=script,
        about=f"reads {parts} logs one by one and adds up what they say",
        expect="completed; what is left out of the prompts decides whether the sum is right",
        task=f"How many failures are there in all {parts} logs together?",
        system=SURVEY_SYSTEM,
        files=files(parts),
        tools=lambda workspace: [read_file(workspace)],
    )


SURVEY = register(survey())

ITEMS = ("write alpha.txt", "write beta.txt", "write gamma.txt")

PLANNED_FILES: Mapping[str, str] = {
    "plan.md": "# Plan, the most urgent first\n\n" + "".join(f"- [ ] {item}\n" for item in ITEMS),
}

PLANNED_SYSTEM = "You work on a small project with the tools you have, item by item of plan.md."


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


PLANNED = scenario(
    name="planned",
    shown_by="outer",
    script="worker",
    about="does one item of a plan file each time it is asked",
    expect="the plan is empty after three rounds, and every item's file is there",
    task="Do the items of plan.md, the first open one first.",
    system=PLANNED_SYSTEM,
    files=PLANNED_FILES,
    tools=planned_tools,
)
