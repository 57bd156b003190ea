"""All scenarios by name."""

from __future__ import annotations

from scenarios.chatter import CHATTER
from scenarios.coding import CIRCLING, FIXER, GAMING, PREMATURE
from scenarios.cycle import CYCLE
from scenarios.denied import DENIED
from scenarios.destructive import DESTRUCTIVE
from scenarios.duplicate import DUPLICATE
from scenarios.empty import EMPTY
from scenarios.flaky import FLAKY
from scenarios.fruitless import FRUITLESS
from scenarios.long import LONG
from scenarios.malformed import MALFORMED
from scenarios.overflow import OVERFLOW
from scenarios.plan import PLAN
from scenarios.planned import PLANNED
from scenarios.polling import POLLING
from scenarios.publish import PUBLISH
from scenarios.recover import RECOVER
from scenarios.runaway import RUNAWAY
from scenarios.scenario import Scenario
from scenarios.shaky import SHAKY
from scenarios.slow import SLOW
from scenarios.spender import SPENDER
from scenarios.stalled import STALLED
from scenarios.subagent import SUBAGENT
from scenarios.survey import SURVEY
from scenarios.truncated import TRUNCATED

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
