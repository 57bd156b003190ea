"""ralph, loop and goal: cost per iteration, why each stops."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import msgspec

from fakeprovider_bench.options import Options, bench_command
from fakeprovider_bench.report import Report, Row, StopCell
from fakeprovider_bench.runner import Shared, effects
from fakeprovider_bench.session import open_shared, report_of, show
from fakeprovider_harness import FakeClock, MaxTurns, Price, RunState, Trace
from fakeprovider_harness.outer import (
    Caps,
    Goal,
    Iteration,
    OuterReport,
    OuterStop,
    Ralph,
    Schedule,
    Setup,
    goal,
    loop,
    ralph,
)
from fakeprovider_harness.trace import Event, RequestLost, TurnEvent
from fakeprovider_harness.verify import Evaluator
from fakeprovider_scenarios import Workspace, find
from fakeprovider_scenarios.projects import finished, works

TURNS = MaxTurns(12)  # of one run, or of one round of a conversation
ALL_TURNS = MaxTurns(60)  # of a goal, which is one run
CAPS = Caps(iterations=8, cost="1.00")
GOAL = "every item of plan.md is done and its file exists, or stop after 8 rounds"
SMALL = Price("0.20", "0.80")  # USD per million tokens: the evaluator's own price
MARKER = "COMPLETE"
EVERY = 300.0  # seconds
NOTES = (
    "context: tokens of the first prompt of the first and of the last iteration. ralph begins "
    "afresh, so it stays; loop and goal go on in one conversation, so it grows.",
    "an evaluator's word is an opinion; where there is a check beside it, both have to agree.",
)

Work = Callable[[Setup, Workspace, Shared], Coroutine[Any, Any, OuterReport]]


@dataclass(frozen=True)
class Case:
    """One row: which loop, when it starts an iteration, and which model is in it."""

    name: str
    starts: str
    script: str
    work: Work


@bench_command()
def outer(options: Options) -> None:
    """ralph, loop and goal: when each starts, what an iteration costs, and why each stopped.

    \b
    ralph  a fresh run per iteration over a plan file; the check opens again what was only ticked
    loop   the same conversation at an interval, or when the model says so
    goal   the same conversation until a smaller model says that it is met
    """
    show(report(options), options)


def report(options: Options) -> Report:
    """One row per case; the clock of the loops is not waited for."""
    with open_shared("outer", options, find("planned")) as shared:
        named = shared.line.each(CASES, lambda case: case.name)
        runs = [_run(case, shared) for case in named]
    why = [f"{row.policy}: {stop}" for row, stop in runs]
    return report_of("outer", [row for row, _ in runs], options, [*NOTES, *why])


def _run(case: Case, shared: Shared) -> tuple[Row, OuterStop]:
    started, turns = time.perf_counter(), Turns(shared.trace)
    with find("planned").workspace() as workspace:
        ended = asyncio.run(_drive(case, workspace, shared, turns))
        row = _row(case, ended, turns, effects(workspace))
    wall_ms = round((time.perf_counter() - started) * 1000, 3)
    return msgspec.structs.replace(row, wall_ms=wall_ms), ended.stop


def _row(case: Case, ended: OuterReport, turns: Turns, done: dict[str, list[str]]) -> Row:
    runs = list(dict.fromkeys(each.run_id for each in ended.iterations))
    return Row(
        policy=case.name,
        turns=sum(each.turns for each in ended.iterations),
        tool_runs=sum(each.tool_runs for each in ended.iterations),
        prompt_tokens=turns.prompts,
        completion_tokens=turns.completions,
        input_tokens=ended.input_tokens,
        output_tokens=ended.output_tokens,
        cost_usd=None if ended.unpriced else ended.cost_usd,
        status="done" if ended.done else "not done",
        stop=_stop(ended.stop),
        effects=done,
        estimated=turns.lost > 0,
        run_id=runs[-1] if runs else None,
        run_ids=runs,
        extra={
            "starts": case.starts,
            "iterations": len(ended.iterations),
            "context": _contexts(ended.iterations),
            "verified": "yes" if ended.verified else "no",
        },
    )


def _stop(stop: OuterStop) -> StopCell:
    reason = stop.evidence.get("error") or stop.evidence.get("reason")
    return StopCell(
        str(stop.kind), stop.value, stop.limit, reason=None if reason is None else str(reason)
    )


def _contexts(iterations: list[Iteration]) -> str:
    """The first prompt of the first and of the last iteration; a dash where there was none."""
    if not iterations:
        return "-"
    return f"{iterations[0].context} → {iterations[-1].context}"


class Turns:
    """Passes the trace on and keeps the tokens of each turn, of whatever run, and what was lost."""

    def __init__(self, onward: Trace) -> None:
        self._onward = onward
        self.prompts: list[int] = []
        self.completions: list[int] = []
        self.lost = 0

    def __call__(self, event: Event) -> None:
        self._onward(event)
        if isinstance(event, TurnEvent):
            self.prompts.append(event.prompt_tokens)
            self.completions.append(event.completion_tokens)
        elif isinstance(event, RequestLost):
            self.lost += 1


async def _drive(case: Case, workspace: Workspace, shared: Shared, turns: Turns) -> OuterReport:
    model = shared.endpoint.model(case.script)
    setup = Setup(
        model=model,
        tools=find("planned").tools(workspace),
        stop=TURNS,
        price=shared.price,
        trace=turns,
        clock=FakeClock(),
    )
    try:
        return await case.work(setup, workspace, shared)
    finally:
        await model.aclose()


async def _ralph(setup: Setup, workspace: Workspace, shared: Shared) -> OuterReport:
    planned = find("planned")
    settings = Ralph(
        root=workspace.files,
        system=shared.padding + planned.system,
        check=partial(works, workspace),
        marker=MARKER,
        keep=workspace.root / "book",
    )
    return await ralph(settings, setup, CAPS)


async def _loop(
    every: float | None, setup: Setup, workspace: Workspace, shared: Shared
) -> OuterReport:
    planned = find("planned")
    schedule = Schedule()
    schedule.add(planned.task, setup.clock.time(), every)
    state = RunState.start("", system=shared.padding + planned.system)
    state.messages.pop()
    return await loop(state, schedule, setup, CAPS)


async def _goal(
    judge: str, checked: bool, setup: Setup, workspace: Workspace, shared: Shared
) -> OuterReport:
    planned = find("planned")
    model = shared.endpoint.model(judge)
    target = Goal(
        text=GOAL,
        evaluator=Evaluator(model, GOAL, price=SMALL),
        check=partial(finished, workspace) if checked else None,
    )
    state = RunState.start(f"{planned.task} Goal: {GOAL}", system=shared.padding + planned.system)
    try:
        return await goal(state, target, replace(setup, stop=ALL_TURNS), CAPS)
    finally:
        await model.aclose()


def _cases() -> list[Case]:
    afresh, interval, pace, stops = (
        "at once, afresh",
        "every 5 min",
        "when it says",
        "when it stops",
    )
    by_interval, by_pace = partial(_loop, EVERY), partial(_loop, None)
    return [
        Case("ralph, finishes", afresh, "worker", _ralph),
        Case("ralph, never finishes", afresh, "worker-stuck", _ralph),
        Case("ralph, falsely claims", afresh, "worker-liar", _ralph),
        Case("ralph, apologises", afresh, "worker-sorry", _ralph),
        Case("ralph, quotes marker", afresh, "worker-quoting", _ralph),
        Case("loop, interval", interval, "worker", by_interval),
        Case("loop, own pace", pace, "worker", by_pace),
        Case("loop, never finishes", pace, "worker-stuck", by_pace),
        Case("loop, apologises", pace, "worker-sorry", by_pace),
        Case("goal, finishes", stops, "worker", partial(_goal, "judge", True)),
        Case("goal, never met", stops, "worker-stuck", partial(_goal, "judge-never", False)),
        Case("goal, falsely claims", stops, "worker-liar", partial(_goal, "judge-gullible", True)),
        Case("goal, apologises", stops, "worker-sorry", partial(_goal, "judge-gullible", False)),
        Case("goal, idle", stops, "worker-quoting", partial(_goal, "judge-never", False)),
        Case("goal, junk evaluator", stops, "worker-stuck", partial(_goal, "judge-junk", False)),
    ]


CASES = _cases()
