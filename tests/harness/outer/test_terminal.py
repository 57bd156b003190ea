"""What a person sees at the terminal of the call that is to be decided on."""

from __future__ import annotations

from typing import Any

import pytest
from click.testing import CliRunner

from fakeprovider_harness import MaxTurns, RunState, run, tool
from fakeprovider_harness.cancel import Cancel
from fakeprovider_harness.commands.terminal import SHOWN, Person
from fakeprovider_harness.models.scripted import ScriptedModel, calls
from fakeprovider_harness.tooling import model_messages


@tool(needs_approval=True)
def shell(command: str) -> str:
    """Run a command."""
    return command


def asked(command: str) -> str:
    """What the terminal shows of a call that runs `command`."""
    model = ScriptedModel([calls(("a", "shell", {"command": command}))])
    state = run(RunState.start("task"), model=model, tools=[shell], stop=MaxTurns(1))
    with CliRunner().isolation(input="n\n\n") as (_, error, _):
        assert Person(Cancel())(state)
        return error.getvalue().decode()


def test_the_end_of_a_long_command_is_shown_and_how_much_is_not() -> None:
    said = asked("echo" + " " * 3 * SHOWN + "; rm -rf /")
    assert "; rm -rf /" in said
    assert "characters are not shown]" in said


def test_nothing_is_hidden_by_control_characters() -> None:
    said = asked("rm -rf / \x9b2K\x7f\u202e\u200b# häufig")
    assert r"rm -rf / \u009b2K\u007f\u202e\u200b# häufig" in said


@pytest.mark.parametrize(
    ("phase", "note", "by"),
    [
        ("awaiting", "", "--yes"),
        ("awaiting", model_messages.EXPIRED, "--yes"),
        ("awaiting", model_messages.REPEATS_UNKNOWN, None),
        ("unknown", "", None),
    ],
)
def test_yes_answers_for_a_write_and_not_for_what_may_have_run(
    phase: Any, note: str, by: str | None
) -> None:
    model = ScriptedModel([calls(("a", "shell", {"command": "ls"}))])
    state = run(RunState.start("task"), model=model, tools=[shell], stop=MaxTurns(1))
    call, cancel = state.pending[0], Cancel()
    call.phase, call.note = phase, note
    with CliRunner().isolation(input="") as (_, error, _):
        assert Person(cancel, yes=True)(state) == (by is not None)
        said = error.getvalue().decode()
    assert (call.decision.by if call.decision else None) == by
    assert ("--yes does not answer what may have run before" in said) == (by is None)
    assert not cancel.cancelled, "only Ctrl-C is an interruption"
