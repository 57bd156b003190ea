"""Forty turns of honest work: a cap cuts it, a progress detector must not."""

from scenarios.scenario import Scenario

LONG = Scenario(
    name="long",
    script="long",
    about="forty turns of real progress, then the answer",
    expect="completed unless a cap cuts it; never stopped for lack of progress",
)
