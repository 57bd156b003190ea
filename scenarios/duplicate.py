"""The same call twice: a read that a cache can save, and a write that it must not."""

from dataclasses import replace

from scenarios.scenario import Scenario

DUPLICATE = Scenario(
    name="duplicate",
    script="duplicate",
    about="reads the same file twice, then answers",
    expect="one execution with a read-only cache, and the same tokens",
)
BASELINE = replace(DUPLICATE, script="duplicate-baseline", about="reads the file once and answers")
WRITE = replace(DUPLICATE, script="duplicate-write", about="deletes the same file twice")
