"""Each stop condition: what it must stop, what it must spare."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import click
import msgspec

from fakeprovider_bench.commands.subagent import research
from fakeprovider_bench.options import Options, bench_command
from fakeprovider_bench.output.printing import render_pairs
from fakeprovider_bench.policies import Policy, approve_all
from fakeprovider_bench.report import Report, Row
from fakeprovider_bench.runner import Shared, run_policy
from fakeprovider_bench.session import judge, open_shared, report_of, require_pytest
from fakeprovider_harness import (
    Condition,
    MaxTurns,
    Predicate,
    RetryPolicy,
    RunState,
    Settings,
    Tool,
    parse_stop,
)
from fakeprovider_harness.conditions.registry import STOP_CONDITIONS
from fakeprovider_scenarios import Scenario, Workspace, find

NET = MaxTurns(60)
"""Under everything, so that a condition that does not stop is seen and not waited for."""

OFF = Settings(empty_replies=None, truncated_replies=None, parallel=1)
"""Sub-agents one after the other: side by side, a race decides what each gets of one budget."""

THINKS = 1.2  # seconds that a person takes to decide
NOTES = [
    "stop: the scenario never ends by itself, and the condition has to end it; spare: it ends by "
    "itself, and the condition must not. A net of 60 turns is under every row.",
    "ActiveTime: the person takes longer to decide than the limit allows for work.",
    "retries: a service that fails twice before each reply ends a run without them, resumably, and "
    "not with them.",
    "over in seconds is measured, so it differs from run to run; all else is the same every time.",
]


def listed_twice(state: RunState) -> str | None:
    """A caller's own rule: nobody needs the list of files more than twice."""
    listed = sum(record.tool == "list_files" for record in state.results)
    return f"list_files was called {listed} times" if listed > 2 else None


@dataclass(frozen=True)
class Trial:
    """A condition, the scenario that it has to stop, and the one that it must spare."""

    condition: Condition
    stops: str
    spares: str


TRIALS = (
    *(
        Trial(parse_stop(trial.text), trial.stops, trial.spares)
        for kind in STOP_CONDITIONS.values()
        for trial in kind.trials
    ),
    Trial(Predicate(listed_twice), "runaway", "plan"),
)
"""What the registered conditions say of themselves, and a condition of a caller's own."""


@bench_command()
def stop_command(options: Options) -> None:
    """Every stop condition on the scenario that it is there for, and on one that it must spare.

    A condition that fires on everything is no better than one that never fires. Exit status 1 if
    any row is not as it must be.
    """
    require_pytest("stop")
    made = report(options)
    render_pairs(made, options.form)
    judge([made], options)
    wrong = [row.policy for row in made.rows if row.extra["verdict"] == "WRONG"]
    if wrong:
        raise click.ClickException(f"not as it must be: {', '.join(wrong)}")


def report(options: Options, trials: Iterable[Trial] = TRIALS) -> Report:
    """Two rows per condition, and two for retries."""
    cases = [case for trial in trials for case in _cases(trial)] + FLAKY
    with open_shared("stop", options, find("plan")) as shared:
        named = shared.line.each(cases, lambda case: f"{case.scenario} · {case.name}")
        rows = [_row(case, shared) for case in named]
    return report_of("stop", rows, options, NOTES)


@dataclass(frozen=True)
class Case:
    """One row: a condition on a script that it must stop, or spare."""

    name: str
    condition: Condition | None
    script: str
    settings: Settings
    must_stop: bool

    @property
    def scenario(self) -> str:
        """The script without its options."""
        return self.script.partition(";")[0]


RETRIES = Settings(retry=RetryPolicy(base=0.01))
FLAKY = [
    Case("no retries, retries", None, "flaky", Settings(), must_stop=True),
    Case("no retries, retries", None, "flaky", RETRIES, must_stop=False),
]


def _cases(trial: Trial) -> Iterator[Case]:
    name = repr(trial.condition).replace(f"{__name__}:", "")
    yield Case(name, trial.condition, trial.stops, OFF, must_stop=True)
    yield Case(name, trial.condition, trial.spares, OFF, must_stop=False)


def _row(case: Case, shared: Shared) -> Row:
    stop = NET if case.condition is None else NET | case.condition
    policy = Policy(case.name, stop, case.settings, decide=_slowly, script=case.script)
    row = run_policy(_scenario(case.scenario, shared), policy, shared)
    kind = "provider_unavailable" if case.condition is None else str(case.condition.kind)
    stopped = row.stop is not None and row.stop.kind == kind
    right = stopped if case.must_stop else row.status == "completed"
    extra = {
        "scenario": case.scenario,
        "must": "stop" if case.must_stop else "spare",
        "verdict": "ok" if right else "WRONG",
    }
    return msgspec.structs.replace(row, extra=extra)


def _slowly(state: RunState) -> None:
    time.sleep(THINKS)
    approve_all(state)


def _scenario(name: str, shared: Shared) -> Scenario:
    """The scenario; one that has agents gets agents that play the same script."""
    scenario = find(name)
    if name != "spender":
        return scenario

    def tools(workspace: Workspace) -> list[Tool]:
        agent = research("spender", shared, workspace)
        return [agent, *scenario.tools(workspace)]

    return replace(scenario, tools=tools)
