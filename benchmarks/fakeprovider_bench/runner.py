"""Runs a scenario under a policy, with our harness, and makes a row of what came out."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from functools import partial

from fakeprovider_bench.endpoint import Endpoint
from fakeprovider_bench.output.progress import Line
from fakeprovider_bench.policies import Policy
from fakeprovider_bench.report import Row, StopCell
from fakeprovider_harness import RunState, Stop, Trace, arun
from fakeprovider_harness.budget.charging import Price
from fakeprovider_harness.trace import Event, ToolEnd
from fakeprovider_scenarios import Scenario, Workspace

READS = frozenset({"listed", "read", "scanned"})


@dataclass(frozen=True)
class Shared:
    """What all rows of a table share: the endpoint, the price, how replies are asked for.

    `line` is told of each row as it begins, `trace` of each event of a run; `padding` is text put
    before the system prompt, so that the first prompt is larger.
    """

    endpoint: Endpoint
    price: Price | None
    line: Line
    trace: Trace
    padding: str = ""


@dataclass
class Observer:
    """Watches the trace of one run: passes it on, adds up tool time."""

    onward: Trace
    tool_ms: float = 0.0

    def __call__(self, event: Event) -> None:
        self.onward(event)
        if isinstance(event, ToolEnd):
            self.tool_ms += event.ms


def run_policy(scenario: Scenario, policy: Policy, shared: Shared) -> Row:
    """Run `scenario` to its end under `policy`; interruptions are answered by the policy."""
    return run_watched(scenario, policy, shared)[0]


def run_watched(scenario: Scenario, policy: Policy, shared: Shared) -> tuple[Row, RunState]:
    """As `run_policy`, and the run itself, for what a row does not say."""
    with scenario.workspace() as workspace:
        observer = Observer(shared.trace)
        started = time.perf_counter()
        state = asyncio.run(_drive(scenario, policy, shared, workspace, observer))
        wall_ms = (time.perf_counter() - started) * 1000
        return to_row(policy.name, state, workspace, wall_ms, observer.tool_ms), state


async def _drive(
    scenario: Scenario, policy: Policy, shared: Shared, workspace: Workspace, observer: Observer
) -> RunState:
    state = RunState.start(scenario.task, system=shared.padding + scenario.system + policy.system)
    model = shared.endpoint.model(policy.script or scenario.script)
    go_on = partial(
        arun,
        model=model,
        tools=scenario.tools(workspace),
        stop=policy.stop,
        price=shared.price,
        settings=policy.settings,
        trace=observer,
        verify=None if policy.verify is None else policy.verify(workspace),
    )
    try:
        await go_on(state)
        while policy.decide is not None and state.interruptions:
            policy.decide(state)
            await go_on(state)
        return state
    finally:
        await model.aclose()


def to_row(name: str, state: RunState, workspace: Workspace, wall_ms: float, tool_ms: float) -> Row:
    """The row of a run that has ended or is interrupted."""
    provider_ms = sum(turn.ms for turn in state.turns)
    return Row(
        policy=name,
        turns=len(state.turns),
        tool_runs=state.tool_runs,
        prompt_tokens=[turn.usage.prompt_tokens for turn in state.turns],
        completion_tokens=[turn.usage.completion_tokens for turn in state.turns],
        input_tokens=state.input_tokens,
        output_tokens=state.output_tokens,
        cost_usd=None if state.unpriced else state.cost_usd,
        status=str(state.status),
        stop=None if state.stop is None else stop_cell(state.stop),
        answer=state.answer,
        effects=effects(workspace),
        wall_ms=round(wall_ms, 3),
        harness_ms=round(max(wall_ms - provider_ms - tool_ms, 0.0), 3),
        estimated=state.estimated,
        run_id=state.run_id,
        extra=cache_use(state),
    )


def cache_use(state: RunState) -> dict[str, int]:
    """Input tokens that a prompt cache served, and that it stored, where there were any."""
    read = sum(turn.usage.cached_tokens for turn in state.turns)
    written = sum(turn.usage.cache_write_tokens for turn in state.turns)
    return {
        name: tokens
        for name, tokens in (("cached input", read), ("cache writes", written))
        if tokens
    }


def effects(workspace: Workspace) -> dict[str, list[str]]:
    """What was done to the world, in order: `deleted` always, other effects where there are any."""
    targets: dict[str, list[str]] = {"deleted": []}
    for kind, target in workspace.effects():
        if kind not in READS:
            targets.setdefault(kind, []).append(target)
    return targets


def stop_cell(stop: Stop) -> StopCell:
    """The stop as a table shows it."""
    reason = stop.evidence.get("reason") or stop.evidence.get("error")
    return StopCell(
        str(stop.kind),
        stop.value,
        stop.limit,
        stop.overshoot,
        None if reason is None else str(reason),
    )
