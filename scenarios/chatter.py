"""Many words in few turns: a cap on turns says little about the output that is paid for."""

from scenarios.scenario import Scenario

CHATTER = Scenario(
    name="chatter",
    script="chatter",
    about="says three hundred words with each call, for ever",
    expect="stopped by a limit on output or money",
    ends=False,
)
