"""Sub-agents that start sub-agents: what one limit on the whole tree has to hold."""

from scenarios.scenario import Scenario

SPENDER = Scenario(
    name="spender",
    script="spender",
    about="starts three sub-agents on every turn, which do the same",
    expect="stopped by one budget for the whole tree, which is not overshot",
    ends=False,
)
