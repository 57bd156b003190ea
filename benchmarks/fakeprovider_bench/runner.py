"""Runs one scenario under one policy, with our harness, and makes a row of what came out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fakeprovider import conversation
from fakeprovider.parsing.counting import inner_count, tools_count
from fakeprovider_bench.endpoint import Endpoint
from fakeprovider_bench.output.progress import Line
from fakeprovider_bench.policies import Policy
from fakeprovider_bench.report import Row, StopCell
from fakeprovider_harness import RunState, Stop, Tool, Trace, arun
from fakeprovider_harness.budget.prices import Price
from fakeprovider_harness.models import CancelSignal, Message, Model, ModelReply, ToolSpec
from fakeprovider_harness.trace import Event, ToolEnd
from fakeprovider_harness.verify import Verifier
from fakeprovider_scenarios import Scenario, Workspace

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


@dataclass(frozen=True)
class Weight:
    """Tokens of one prompt; `history` is what is neither system nor tools."""

    system: int
    tools: int
    history: int

    @property
    def total(self) -> int:
        """The whole prompt."""
        return self.system + self.tools + self.history


class Weighing:
    """Passes requests on and keeps the weight of each, summaries included.

    The whole is what the service reports; system and tools are counted as our provider counts, so
    against another service they are close, not exact.
    """

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self.weights: list[Weight] = []
        self._model = model

    async def ask(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        *,
        max_output: int | None = None,
        cancel: CancelSignal | None = None,
        on_text: Callable[[str], None] | None = None,
    ) -> ModelReply:
        """As `Model.ask`."""
        reply = await self._model.ask(
            messages, tools, max_output=max_output, cancel=cancel, on_text=on_text
        )
        if reply.usage is not None:
            self.weights.append(_weight(messages, tools, reply.usage.prompt_tokens))
        return reply

    async def aclose(self) -> None:
        """Close the client."""
        await self._model.aclose()


def _weight(messages: Sequence[Message], tools: Sequence[ToolSpec], total: int) -> Weight:
    system = sum(
        inner_count(conversation.Message("system", message.content or ""))
        for message in messages
        if message.role == "system"
    )
    offered = [conversation.Offered(t.name, t.description, t.parameters) for t in tools]
    described = tools_count(offered)
    return Weight(system, described, max(0, total - system - described))
