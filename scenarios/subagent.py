"""A question left to a sub-agent: its history stays out of the parent's prompts, its cost not out
of the parent's bill."""

from scenarios.scenario import Scenario

SUBAGENT = Scenario(
    name="subagent",
    script="delegate",
    about="asks research(question), a sub-agent with six turns and five cents of its own",
    expect="the child's text comes back, its limit is a sentence, its cost is in the total",
)
