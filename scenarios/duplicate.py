"""The same call twice: a read that a cache can save, and a write that it must not."""

from scenarios.scenario import Scenario

DUPLICATE = Scenario(
    name="duplicate",
    script="duplicate",
    about="reads the same file twice, then answers",
    expect="one execution with a read-only cache, and the same tokens",
)
BASELINE = "duplicate-baseline"  # the script that reads the file once and answers
WRITE = "duplicate-write"  # the script that deletes the same file twice, where a cache breaks it
