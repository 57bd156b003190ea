"""Every built-in script: what it plays first, its row in the docs, its scenario.

To add a script: its function, its row in docs/built-in-scripts.md, its line in `PLAYS`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from fakeprovider.conversation import Conversation, Message
from fakeprovider.replies import Reply, say
from fakeprovider.scripts import describe
from fakeprovider.scripts.registry import BUILTIN, script
from fakeprovider.scripts.reply_sequence import ScriptRanOut
from fakeprovider_scenarios.scenario import SCENARIOS

PAGE = (Path(__file__).parents[2] / "docs" / "built-in-scripts.md").read_text(encoding="utf-8")

PLAYS = {
    "plan": "list_files read_file say",
    "recover": "read_file say over",
    "long": "list_files read_file read_file",
    "polling": "job_status job_status job_status",
    "shaky": "fetch_page fetch_page fetch_page",
    "slow": "scan_archive say over",
    "searching": "say over over",
    "chatter": "list_files list_files list_files",
    "delegate": "research say over",
    "flaky": "list_files read_file say",
    "runaway": "list_files list_files list_files",
    "cycle": "list_files read_file read_file",
    "fruitless": "search_files search_files search_files",
    "denied": "read_file read_file read_file",
    "spender": "research+research+research research+research+research research+research+research",
    "empty": "list_files nothing nothing",
    "malformed": "read_file read_file read_file",
    "truncated": "delete_file delete_file delete_file",
    "overflow": "read_file read_file read_file",
    "stalled": "list_files list_files list_files",
    "destructive": "list_files delete_file say",
    "duplicate-baseline": "read_file say over",
    "duplicate": "read_file read_file say",
    "duplicate-write": "delete_file delete_file say",
    "publish": "publish publish say",
    "fixer": "list_files read_file run_tests",
    "circling": "write_file run_tests write_file",
    "gaming": "write_file run_tests say",
    "premature": "read_file say write_file",
    "worker": "read_file read_file read_file",
    "worker-stuck": "read_file write_file say",
    "worker-liar": "read_file read_file read_file",
    "worker-sorry": "say say say",
    "worker-quoting": "say say say",
    "judge": "say say say",
    "judge-never": "say say say",
    "judge-gullible": "say say say",
    "judge-junk": "say say say",
    "survey": "read_file read_file read_file",
    "survey-noting": "read_file read_file read_file",
    "survey-lead": "research research research",
    "survey-part": "read_file read_file read_file",
}
"""Turns 0, 1 and 2 of each, where no tool has answered anything: the calls, `say`, or `over`."""

BESIDE_ANOTHER = {
    "searching": "what happens is on the service's side; the tests of the dialects play it",
    "duplicate-baseline": "what duplicate is compared with",
    "duplicate-write": "duplicate with an effect",
    "worker-stuck": "a worker of the outer loops",
    "worker-liar": "a worker of the outer loops",
    "worker-sorry": "a worker of the outer loops",
    "worker-quoting": "a worker of the outer loops",
    "judge": "the evaluator of a goal",
    "judge-never": "the evaluator of a goal",
    "judge-gullible": "the evaluator of a goal",
    "judge-junk": "the evaluator of a goal",
    "survey-noting": "survey for harnesses with notes",
    "survey-lead": "survey for harnesses with sub-agents",
    "survey-part": "the sub-agent of survey-lead",
}
"""Scripts without a scenario of their own, and why."""


def gaps() -> list[str]:
    """What each script lacks."""
    played = {scenario.script for scenario in SCENARIOS.values()} | BESIDE_ANOTHER.keys()
    lacking: list[str] = []
    for name in BUILTIN:
        if f"| `{name}` | {describe(BUILTIN[name])} |" not in PAGE:
            lacking.append(f"{name} has no row in docs/built-in-scripts.md")
        if name not in PLAYS:
            lacking.append(f"{name} has no line in PLAYS")
        if name not in played:
            lacking.append(f"{name} has no scenario")
    return lacking


def test_every_script_has_its_row_its_test_and_its_scenario() -> None:
    assert gaps() == []


def test_a_script_that_is_only_registered_is_told_by_name() -> None:
    @script
    def brand_new(conversation: Conversation) -> Reply:
        """Says something."""
        return say("something")

    try:
        assert gaps() == [
            "brand-new has no row in docs/built-in-scripts.md",
            "brand-new has no line in PLAYS",
            "brand-new has no scenario",
        ]
    finally:
        BUILTIN.remove("brand-new")


@pytest.mark.parametrize("name", PLAYS)
def test_a_script_plays_its_first_turns(name: str) -> None:
    assert " ".join(turn_of(name, number) for number in range(3)) == PLAYS[name]


def turn_of(name: str, number: int) -> str:
    """What a turn consists of, in words."""
    question = Message("user", "How many failures are in logs 1 to 8?")
    history = (question, *[Message("assistant", "x")] * number)
    try:
        reply = BUILTIN[name](Conversation("m", history, turn=number))
    except ScriptRanOut:
        return "over"
    return "+".join(call.name for call in reply.calls) or ("say" if reply.text else "nothing")
