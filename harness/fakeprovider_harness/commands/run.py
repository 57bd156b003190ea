"""`python -m fakeprovider_harness run`: one run on a task."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import or_

import click

from fakeprovider_harness.commands.options import TURNS, Options, refuse_empty, shared_options
from fakeprovider_harness.commands.resume_command import advice
from fakeprovider_harness.commands.session import SYSTEM, Session, check_of, leave, session
from fakeprovider_harness.commands.terminal import counted, tell
from fakeprovider_harness.conditions import MaxCost, MaxTokens
from fakeprovider_harness.state import RunState
from fakeprovider_harness.stop import Condition
from fakeprovider_harness.verify.verifier import Verifier


@click.command()
@click.argument("task", required=False)
@click.option("--resume", metavar="RUN_ID", help="Go on with an earlier run.")
@click.option("--check", metavar="COMMAND", help="Done only if this exits with 0.")
@shared_options
def run(task: str | None, resume: str | None, check: str | None, options: Options) -> None:
    """One run on TASK, with tools over a directory.

    Progress goes to standard error, the answer to standard output. Ctrl-C ends it resumably.

    \b
    fakeprovider-harness run "Why does test_dates fail?" --base-url http://127.0.0.1:8000
    fakeprovider-harness run "Fix it." --check "pytest -q" --max-cost 0.5 --price-in 2 --price-out 8
    """
    refuse_empty(task, "say what to do, or --resume RUN_ID")
    verifier = check_of(check, options)
    with session(options, stop_default=TURNS) as here:
        state = _state(here, task, resume)
        tell(f"run {state.run_id}")
        here.drive(_run(here, state, verifier))
        _tell(state, here)


def _state(here: Session, task: str | None, resume: str | None) -> RunState:
    if (task is None) == (resume is None):
        raise click.UsageError("say what to do, or --resume RUN_ID; not both")
    if resume is not None:
        return here.load(resume)
    state = RunState.start(str(task), system=SYSTEM)
    state.setup["command"] = "run"
    return state


async def _run(here: Session, state: RunState, verifier: Verifier | None) -> RunState:
    setup = replace(here.setup, verify=verifier, stop=None)
    await setup.run(state, _limits(here))
    return state


def _limits(here: Session) -> Condition | None:
    """The limits over the whole run, whatever process it began in."""
    options = here.options
    given = [
        here.setup.stop,
        None if options.max_cost is None else MaxCost(options.max_cost, reserve=True),
        None if options.max_tokens is None else MaxTokens(options.max_tokens),
    ]
    limits = [condition for condition in given if condition is not None]
    return reduce(or_, limits) if limits else None


ESTIMATED = "~ in part an estimate: what was lost is charged at the most that it may have cost"


def _tell(state: RunState, here: Session) -> None:
    if state.answer:
        click.echo(state.answer)
    cost = "cost unknown" if state.unpriced else f"{'~' * state.estimated}${state.cost_usd:f}"
    verified = " · verified" if state.verified else ""
    tell(f"{state.status}: {state.stop} · {counted(len(state.turns), 'turn')} · {cost}{verified}")
    if state.estimated and not state.unpriced:
        tell(ESTIMATED)
    if state.resumable:
        stop = state.stop
        tell(advice(state.run_id, stop.kind, stop.limit) if stop else advice(state.run_id))
    leave(state.status == "completed", cancelled=here.setup.cancel.cancelled)
