"""The loop that never ends by itself: the same call, turn after turn, and the bill grows as n²."""

from scenarios.scenario import Scenario

RUNAWAY = Scenario(
    name="runaway",
    script="runaway",
    about="asks for list_files for ever",
    expect="stopped by a limit in code; a limit in the prompt changes nothing",
    ends=False,
)
