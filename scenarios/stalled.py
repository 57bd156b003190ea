"""A provider that falls silent: only a limit of time, or a timeout of the client, ends it."""

from scenarios.scenario import Scenario

STALLED = Scenario(
    name="stalled",
    script="stalled",
    about="falls silent on its second turn, with the socket open",
    expect="ended by the deadline, resumable; what was sent is charged",
    ends=False,
)
