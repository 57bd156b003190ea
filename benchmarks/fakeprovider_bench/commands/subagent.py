"""One transcript against a sub-agent; one that runs away."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from fakeprovider_bench.options import Options, bench_command
from fakeprovider_bench.policies import Policy
from fakeprovider_bench.report import Report, Row
from fakeprovider_bench.runner import Shared, run_policy
from fakeprovider_bench.session import open_shared, report_of, show
from fakeprovider_harness import MaxCost, MaxTurns, Tool, ToolContext, subagent
from fakeprovider_scenarios import Scenario, Workspace, file_tools, find
from fakeprovider_scenarios.scenario import SYSTEM

CAP = MaxTurns(20)
CHILD_STOP = MaxTurns(6) | MaxCost("0.05")
NOTE = (
    "a sub-agent's tokens and cost are in its parent's totals; prompts are the parent's own. "
    "Its limit is a result in words, not a stop of the parent."
)


@bench_command()
def subagent_command(options: Options) -> None:
    """A question answered in one transcript, by a sub-agent, and by one that runs away."""
    show(report(options), options)


def report(options: Options) -> Report:
    """The rows of this scenario."""
    agents = [("one transcript", None), ("sub-agent", "plan"), ("sub-agent runs away", "runaway")]
    with open_shared("subagent", options, find("plan")) as shared:
        rows = [
            run_policy(find("plan"), Policy(name, CAP), shared)
            if script is None
            else _row(name, script, shared)
            for name, script in shared.line.each(agents, lambda agent: agent[0])
        ]
    return report_of("subagent", rows, options, [NOTE])


def _row(name: str, child_script: str, shared: Shared) -> Row:
    row = run_policy(_scenario(child_script, shared), Policy(name, CAP), shared)
    own = sum(row.prompt_tokens)
    extra = {"parent's input": own, "child's input": row.input_tokens - own}
    return msgspec.structs.replace(row, extra=extra)


def _scenario(child_script: str, shared: Shared) -> Scenario:
    def tools(workspace: Workspace) -> list[Tool]:
        return [research(child_script, shared, workspace)]

    return replace(find("subagent"), tools=tools)


def research(child_script: str, shared: Shared, workspace: Workspace) -> Tool:
    """research(question): a read-only sub-agent with six turns and $0.05 of its own."""
    model = shared.endpoint.model(child_script)
    reading = [tool for tool in file_tools(workspace) if tool.read_only]
    agent = subagent(
        "research",
        "Answer a question about the files. Returns the answer only.",
        model=model,
        tools=reading,
        stop=CHILD_STOP,
        system=SYSTEM,
        price=shared.price,
    )

    async def ask(question: str, ctx: ToolContext) -> object:
        try:
            return await agent.fn(question=question, ctx=ctx)
        finally:
            await model.aclose()

    return replace(agent, fn=ask)
