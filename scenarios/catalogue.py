"""All scenarios by name."""

from __future__ import annotations

from scenarios.coding import CIRCLING, FIXER, GAMING, PREMATURE
from scenarios.denied import DENIED
from scenarios.destructive import DESTRUCTIVE
from scenarios.duplicate import DUPLICATE
from scenarios.long import LONG
from scenarios.plan import PLAN
from scenarios.planned import PLANNED
from scenarios.publish import PUBLISH
from scenarios.recover import RECOVER
from scenarios.runaway import RUNAWAY
from scenarios.scenario import Scenario
from scenarios.slow import SLOW
from scenarios.subagent import SUBAGENT
from scenarios.survey import SURVEY

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
    )
}


def find(name: str) -> Scenario:
    """The scenario called `name`; raises `KeyError` naming what there is."""
    if name not in SCENARIOS:
        raise KeyError(f"no scenario {name!r}; there are {', '.join(SCENARIOS)}")
    return SCENARIOS[name]
