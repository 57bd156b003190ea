"""Replies with nothing in them: silence is no success."""

from scenarios.scenario import Scenario

EMPTY = Scenario(
    name="empty",
    script="empty",
    about="lists the files, then has nothing to say",
    expect="asked once more, then stopped; never completed",
    ends=False,
)
