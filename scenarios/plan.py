"""Everything goes right: list, read, answer."""

from scenarios.scenario import Scenario

PLAN = Scenario(
    name="plan",
    script="plan",
    about="lists the files, reads the right one, answers",
    expect="completed after three turns and two tool runs",
)
