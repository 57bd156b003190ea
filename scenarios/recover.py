"""A guessed file name: whether the run corrects itself depends on what the error says."""

from scenarios.scenario import Scenario

RECOVER = Scenario(
    name="recover",
    script="recover",
    about="guesses timeout.log; corrects itself only if an error says how",
    expect="completed with the right answer when errors are instructive",
)
