"""Replies cut at the output limit in the middle of a call: nothing of them may be run."""

from scenarios.scenario import Scenario

TRUNCATED = Scenario(
    name="truncated",
    script="truncated",
    about="asks to delete a file whose name is cut off, for ever",
    expect="stopped after three; nothing is deleted",
    ends=False,
)
