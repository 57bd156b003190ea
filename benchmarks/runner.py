"""Runs one scenario under one policy, with our harness, and makes a row of what came out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.endpoint import Endpoint
from benchmarks.policies import Policy
from benchmarks.progress import Line
from benchmarks.report import Row, StopCell
from harness import RunState, Stop, Tool, Trace, arun
from harness.models import Model
from harness.prices import Price
from harness.trace import Event, ToolEnd
from harness.verify import Verifier
from scenarios import Scenario, Workspace

READS = frozenset({"listed", "read", "scanned"})


@dataclass(frozen=True)
class Conditions:
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


def run_policy(scenario: Scenario, policy: Policy, conditions: Conditions) -> Row:
    """Run `scenario` to its end under `policy`; interruptions are answered by the policy."""
    return run_watched(scenario, policy, conditions)[0]


def run_watched(scenario: Scenario, policy: Policy, conditions: Conditions) -> tuple[Row, RunState]:
    """As `run_policy`, and the run itself, for what a row does not say."""
    with scenario.workspace() as workspace:
        observer = Observer(conditions.trace)
        started = time.perf_counter()
        state = asyncio.run(_drive(scenario, policy, conditions, workspace, observer))
        wall_ms = (time.perf_counter() - started) * 1000
        return to_row(policy.name, state, workspace, wall_ms, observer.tool_ms), state


async def _drive(
    scenario: Scenario,
    policy: Policy,
    conditions: Conditions,
    workspace: Workspace,
    observer: Observer,
) -> RunState:
    system = conditions.padding + scenario.system + policy.system
    state = RunState.start(scenario.task, system=system)
    model = conditions.endpoint.model(policy.script or scenario.script)
    tools = scenario.tools(workspace)
    verify = None if policy.verify is None else policy.verify(workspace)
    try:
        while True:
            await _leg(state, model, tools, policy, conditions, observer, verify)
            if policy.decide is None or not state.interruptions:
                return state
            policy.decide(state)
    finally:
        await model.aclose()


async def _leg(
    state: RunState,
    model: Model,
    tools: Sequence[Tool],
    policy: Policy,
    conditions: Conditions,
    observer: Observer,
    verify: Verifier | None,
) -> None:
    await arun(
        state,
        model=model,
        tools=tools,
        stop=policy.stop,
        price=conditions.price,
        settings=policy.settings,
        trace=observer,
        verify=verify,
    )


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
    found: dict[str, list[str]] = {"deleted": []}
    for kind, target in workspace.effects():
        if kind not in READS:
            found.setdefault(kind, []).append(target)
    return found


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
