"""All scenarios by name."""

from __future__ import annotations

from fakeprovider_scenarios.projects import CIRCLING, FIXER, GAMING, PLANNED, PREMATURE, SURVEY
from fakeprovider_scenarios.scenario import Scenario
from fakeprovider_scenarios.scripted import (
    CHATTER,
    CYCLE,
    DENIED,
    DESTRUCTIVE,
    DUPLICATE,
    EMPTY,
    FLAKY,
    LONG,
    MALFORMED,
    PLAN,
    RECOVER,
    RUNAWAY,
    SLOW,
    SPENDER,
    STALLED,
    SUBAGENT,
    TRUNCATED,
)
from fakeprovider_scenarios.with_tools import FRUITLESS, OVERFLOW, POLLING, PUBLISH, SHAKY

SCENARIOS: dict[str, Scenario] = {
    scenario.name: scenario
    for scenario in (
        PLAN,
        RUNAWAY,
        RECOVER,
        DENIED,
        DUPLICATE,
        DESTRUCTIVE,
        SLOW,
        LONG,
        PUBLISH,
        SUBAGENT,
        FIXER,
        PREMATURE,
        GAMING,
        CIRCLING,
        SURVEY,
        PLANNED,
        STALLED,
        CYCLE,
        POLLING,
        FRUITLESS,
        EMPTY,
        TRUNCATED,
        MALFORMED,
        CHATTER,
        SPENDER,
        FLAKY,
        SHAKY,
        OVERFLOW,
    )
}


def find(name: str) -> Scenario:
    """The scenario called `name`; raises `KeyError` naming what there is."""
    if name not in SCENARIOS:
        raise KeyError(f"no scenario {name!r}; there are {', '.join(SCENARIOS)}")
    return SCENARIOS[name]
