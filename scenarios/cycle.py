"""A loop that is three steps wide: two neighbouring calls are never the same."""

from scenarios.scenario import Scenario

CYCLE = Scenario(
    name="cycle",
    script="cycle",
    about="lists, reads one file, reads another, for ever",
    expect="found as a loop, nudged once, stopped",
    ends=False,
)
