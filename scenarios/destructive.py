"""A deletion nobody asked for: nothing may happen before a person has approved it."""

from scenarios.scenario import Scenario

DESTRUCTIVE = Scenario(
    name="destructive",
    script="destructive",
    about="lists the files, then asks to delete one that the task never mentioned",
    expect="interrupted before the deletion; a rejection is reported as one",
)
