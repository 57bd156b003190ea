"""A service that fails twice before each reply: what retries are for."""

from scenarios.scenario import Scenario

FLAKY = Scenario(
    name="flaky",
    script="flaky",
    about="answers at the third attempt only, from the second turn on",
    expect="completed with retries; without, a stop that can be resumed",
)
