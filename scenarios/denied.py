"""A file that may not be read, asked for again and again: an error that no retry can mend."""

from scenarios.scenario import Scenario

DENIED = Scenario(
    name="denied",
    script="denied",
    about="asks for a file it may not read, for ever",
    expect="stopped by a limit, or at once where permanent errors stop the run",
    ends=False,
)
