"""What flattens the bill of one long task."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import click
import msgspec

from fakeprovider import conversation
from fakeprovider.parsing.counting import inner_count, tools_count
from fakeprovider_bench.options import COUNT, Options, bench_command
from fakeprovider_bench.report import Report, Row
from fakeprovider_bench.runner import Shared, to_row
from fakeprovider_bench.session import open_shared, report_of, show
from fakeprovider_harness import MaxTurns, RunState, Tool, arun, subagent
from fakeprovider_harness.context import ContextPolicy, DropResults, Fresh, Notes, Summarise
from fakeprovider_harness.models import CancelSignal, Message, Model, ModelReply, ToolSpec
from fakeprovider_scenarios import Scenario, Workspace, find
from fakeprovider_scenarios.projects import PARTS, SURVEY_SYSTEM, notes, survey, take_note, total
from fakeprovider_scenarios.workspace import read_file

CAP = MaxTurns(1_000)
CHILD_CAP = MaxTurns(20)
WINDOW = 8_000  # tokens
KEEP = 2  # replies
LEAST = 8  # parts; below, halves say nothing
MOST = 500  # parts; above, the cap on turns would cut the task
SCRIPTED = (
    "what a scripted summary shows is the bill: the requests, their sizes, what is charged. It "
    "cannot show quality: the script's summary holds every fact by construction, and a real "
    "model's may not. “facts” counts the logs that the last prompt still told of."
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


@dataclass(frozen=True)
class Way:
    """One row: a script, a policy for the context, and what tools there are beside reading."""

    name: str
    script: str = "survey"
    context: Callable[[int, Workspace], ContextPolicy] | None = None
    tools: Callable[[Shared, Workspace], list[Tool]] = lambda shared, workspace: [
        read_file(workspace)
    ]


def _noting(shared: Shared, workspace: Workspace) -> list[Tool]:
    return [read_file(workspace), take_note(workspace)]


def _delegating(shared: Shared, workspace: Workspace) -> list[Tool]:
    """research(question): an agent with a history of its own reads the logs."""
    agent = subagent(
        "research",
        "Answer a question about some of the logs. Returns the answer only.",
        model=shared.endpoint.model("survey-part"),
        tools=[read_file(workspace)],
        stop=CHILD_CAP,
        system=SURVEY_SYSTEM,
    )
    return [agent]


WAYS = (
    Way("none"),
    Way("summarise", context=lambda window, _: Summarise(window, KEEP)),
    Way("drop old results", context=lambda window, _: DropResults(window, KEEP)),
    Way("notes on demand", context=lambda window, _: Notes(window, 1)),
    Way("sub-agent", "survey-lead", tools=_delegating),
    Way(
        "fresh context",
        "survey-noting",
        lambda window, workspace: Fresh(window, lambda state: notes(workspace, state)),
        _noting,
    ),
)


@bench_command()
@click.option(
    "--parts",
    type=click.IntRange(LEAST, MOST),
    default=PARTS,
    show_default=True,
    help="Logs to read: the length of the task.",
)
@click.option(
    "--window",
    type=COUNT,
    default=WINDOW,
    show_default=True,
    help="Tokens of prompt and reply at which a policy cuts.",
)
def growth(parts: int, window: int, options: Options) -> None:
    """What flattens the bill: one long task under each way to cut the history.

    \b
    exponent  how the input grows when the task doubles: 1 flat, 2 the whole history each turn
    system, tools, history   what the prompts are made of, in percent of all input
    facts     logs that the model could still see when it answered
    """
    show(report(options, parts, window), options)


def report(options: Options, parts: int = PARTS, window: int = WINDOW) -> Report:
    """One row per way; each is run on half of the task too, for the exponent."""
    with open_shared("growth", options, find("survey")) as shared:
        tax = _tax(shared)
        named = shared.line.each(WAYS, lambda way: way.name)
        rows = [_row(way, parts, window, shared) for way in named]
    return report_of("growth", rows, options, [tax, SCRIPTED])


def _row(way: Way, parts: int, window: int, shared: Shared) -> Row:
    half, _ = _run(way, parts // 2, window, shared)
    row, weights = _run(way, parts, window, shared)
    extra: dict[str, Any] = {
        "exponent": _exponent(row, half, parts / (parts // 2)),
        **_shares(weights),
        "facts": _facts(row, parts),
    }
    return msgspec.structs.replace(row, extra=extra, prompt_parts=_parts(weights))


def _exponent(row: Row, half: Row, longer: float) -> str:
    """How the input grows with the task; a dash where nothing was answered."""
    if not row.input_tokens or not half.input_tokens:
        return "-"
    return f"{math.log(row.input_tokens / half.input_tokens) / math.log(longer):.2f}"


def _run(way: Way, parts: int, window: int, shared: Shared) -> tuple[Row, list[Weight]]:
    scenario = survey(parts, way.script)
    with scenario.workspace() as workspace:
        return asyncio.run(_drive(way, scenario, window, shared, workspace))


async def _drive(
    way: Way, scenario: Scenario, window: int, shared: Shared, workspace: Workspace
) -> tuple[Row, list[Weight]]:
    started = time.perf_counter()
    model = Weighing(shared.endpoint.model(way.script))
    state = RunState.start(scenario.task, system=shared.padding + scenario.system)
    await arun(
        state,
        model=model,
        tools=way.tools(shared, workspace),
        stop=CAP,
        price=shared.price,
        trace=shared.trace,
        context=None if way.context is None else way.context(window, workspace),
    )
    await model.aclose()
    wall_ms = (time.perf_counter() - started) * 1000
    return to_row(way.name, state, workspace, wall_ms, 0.0), model.weights


def _parts(weights: list[Weight]) -> dict[str, list[int]]:
    return {
        "system": [weight.system for weight in weights],
        "tools": [weight.tools for weight in weights],
        "history": [weight.history for weight in weights],
    }


def _shares(weights: list[Weight]) -> dict[str, str]:
    """What the run's own prompts are made of, in percent."""
    whole = sum(weight.total for weight in weights) or 1
    return {
        f"{name} %": f"{100 * sum(tokens) / whole:.1f}" for name, tokens in _parts(weights).items()
    }


def _facts(row: Row, parts: int) -> str:
    """How many logs the answer adds up, and whether the sum is right."""
    words = (row.answer or "").split()
    if not words or not words[0].isdigit():
        return "no answer"
    right = int(words[0]) == total(parts)
    counted = [int(word) for word in words[1:] if word.isdigit()]
    return f"{counted[0] if counted else '?'} of {parts}{'' if right else ', wrong'}"


def _tax(shared: Shared) -> str:
    """What the tools cost before anything is said: weighed in the first prompt of `plan`."""
    scenario = find("plan")
    model = Weighing(shared.endpoint.model(scenario.script))

    async def first(workspace: Workspace) -> None:
        state = RunState.start(scenario.task, system=scenario.system)
        await arun(state, model=model, tools=scenario.tools(workspace), stop=MaxTurns(1))
        await model.aclose()

    with scenario.workspace() as workspace:
        asyncio.run(first(workspace))
    if not model.weights:
        return "tool definitions are a permanent tax, which is not known without a reply."
    weight = model.weights[0]
    return (
        f"tool definitions are a permanent tax: {weight.tools} of the first {weight.total} tokens "
        f"of plan (system {weight.system}, history {weight.history}), in every prompt again."
    )
