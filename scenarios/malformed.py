"""Arguments that are no JSON: told to the model, never run, and not for ever."""

from scenarios.scenario import Scenario

MALFORMED = Scenario(
    name="malformed",
    script="malformed",
    about="sends arguments that do not parse, for ever",
    expect="stopped after three; nothing is run",
    ends=False,
)
