"""A run as a tool of another run: its own transcript and limits, only its final text comes back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from fakeprovider_harness.budget.charging import Pricing, refuse_no_price, refuse_unpriced
from fakeprovider_harness.engine import run_arguments
from fakeprovider_harness.engine.run_context import guarded
from fakeprovider_harness.loop import arun
from fakeprovider_harness.models.base import Model
from fakeprovider_harness.outcomes import Status, StopKind
from fakeprovider_harness.settings import Settings
from fakeprovider_harness.state import RunState, ToolResult
from fakeprovider_harness.stop import Condition
from fakeprovider_harness.tooling.toolbox import Toolbox
from fakeprovider_harness.tools import Tool, ToolContext

NO_RESULT = "no result"
PARAMETERS = {
    "type": "object",
    "properties": {"question": {"type": "string"}},
    "required": ["question"],
}


def subagent(
    name: str,
    description: str,
    *,
    model: Model,
    tools: Sequence[Tool],
    stop: Condition,
    system: str | None = None,
    price: Pricing = None,
    settings: Settings | None = None,
    read_only: bool = True,
) -> Tool:
    """A tool with one argument, `question`, that an agent of its own answers.

    The agent sees the question and `system`, not the transcript of its parent. It inherits the
    signal, the trace, the store, the retries and (without `price`) the price; its cost is added to
    the parent's totals as it is spent, and the parent's limits on the tree (tokens, money, time)
    end it too. Agents that start together share a reserved budget evenly. The model reads the
    agent's final text; a limit of the agent is a result in words and does not stop the parent. Say
    `read_only=False` where its tools have effects. In a store the agent's run has an id under its
    parent's, and goes on where it was if the parent is resumed.

    A budget in USD without a price, the agent's own or one above it, refuses the run that would
    offer the tool: `UnknownPrice`, before anything is sent. Raises `TypeError` and `ValueError` for
    what an agent cannot be made of.
    """
    agent = _Agent(model, tools, stop, system, price, settings)
    return Tool(
        name,
        description,
        PARAMETERS,
        agent.ask,
        read_only=read_only,
        idempotent=True,
        runs_agent=True,
        check_price=agent.check_price,
    )


@dataclass
class _Agent:
    """What each run of a sub-agent is made of.

    Prices are checked against `first_tools`, its tools as they were when it was made: if the list
    later holds the agent itself, a check of the list would never end.
    """

    model: Model
    tools: Sequence[Tool]
    stop: Condition
    system: str | None
    price: Pricing
    settings: Settings | None
    first_tools: Toolbox = field(init=False)

    def __post_init__(self) -> None:
        if self.stop is None:
            raise TypeError(
                "subagent: stop is a condition such as MaxTurns(20): no agent is unlimited"
            )
        run_arguments.check({"model": self.model, "settings": self.settings})
        guarded(self.stop, self.settings or Settings())
        self.first_tools = Toolbox(self.tools)
        refuse_no_price(self.price)

    def check_price(self, inherited: Pricing, budget: bool) -> None:
        """Refuse a budget, above or of the agent's own, that has no price to count by."""
        pricing = inherited if self.price is None else self.price
        budget = budget or any(leaf.needs_price for leaf in self.stop.leaves())
        if budget:
            refuse_unpriced(pricing, self.model.name)
        self.first_tools.check_price(pricing, budget)

    async def ask(self, question: str, ctx: ToolContext) -> ToolResult:
        """Run the agent on a question, or go on with the run of an earlier process."""
        earlier = ctx.store.find(ctx.idempotency_key)
        if earlier is None and (refusal := ctx.branch.refusal()) is not None:
            return ToolResult(refusal, "skipped")
        state = earlier or _new(ctx, question, self.system)
        try:
            await arun(
                state,
                model=self.model,
                tools=self.tools,
                stop=self.stop,
                price=ctx.price if self.price is None else self.price,
                trace=ctx.trace,
                store=ctx.store,
                cancel=ctx.cancel,
                settings=self.settings,
                clock=ctx.clock,
                branch=ctx.branch,
            )
        finally:
            ctx.spend(state)
        return _result(state)


def _new(ctx: ToolContext, question: str, system: str | None) -> RunState:
    return RunState.start(question, system=system, run_id=ctx.idempotency_key, parent=ctx.run_id)


def _result(state: RunState) -> ToolResult:
    if state.status is Status.COMPLETED:
        return ToolResult(state.answer or NO_RESULT)
    stop = state.stop
    cancelled = stop is not None and stop.kind is StopKind.CANCELLED
    return ToolResult(f"{NO_RESULT} ({stop})", "cancelled" if cancelled else "error")
