"""`python -m harness loop`: a prompt again and again, at an interval or at the model's own pace."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import click

from harness.commands.again import advice
from harness.commands.options import TURNS, Options, cap_options, said, shared_options
from harness.commands.session import SYSTEM, Session, caps, session
from harness.commands.terminal import tell
from harness.models.base import Message
from harness.outer import Schedule, loop, loop_prompt, parse_interval
from harness.outer.schedule import DAY, EXPIRY
from harness.state import RunState
from harness.trace import Event, RunStopped, Trace


@click.command("loop")
@click.argument("prompt", required=False)
@click.option("--every", metavar="INTERVAL", help="30s, 5m, 2h, 1d; without it, its own pace.")
@click.option("--resume", metavar="RUN_ID", help="Go on with an earlier loop and its tasks.")
@cap_options
@shared_options
def loop_command(
    prompt: str | None,
    every: str | None,
    resume: str | None,
    max_iterations: int | None,
    max_seconds: float | None,
    unlimited: bool,
    options: Options,
) -> None:
    """Say PROMPT again and again in one conversation; it fires only between runs.

    Without PROMPT: `loop.md` of the project, then of the user, else a maintenance prompt. An
    interval ends on Ctrl-C, after seven days or at a cap; at its own pace the model says when to go
    on and why, and may end it.

    \b
    python -m harness loop "Is the build green?" --every 5m --max-cost 1 --price-in 2 --price-out 12
    """
    said(prompt, "say the prompt, or leave it out for that of loop.md")
    if resume is not None and (prompt is not None or every is not None):
        raise click.UsageError("a loop that goes on has its prompt and its interval already")
    limits = caps(options, max_iterations, max_seconds, unlimited)
    with session(options, stop_default=TURNS) as here:
        state, schedule = _begin(here, prompt, every, resume)
        tell(f"loop {state.run_id}")
        setup = replace(here.setup, trace=answering(state, here.setup.trace))
        report = here.drive(loop(state, schedule, setup, limits))
        stop = report.stop
        go_on = advice(state.run_id, stop.kind, stop.limit) if schedule.tasks else None
        here.finish(report, go_on)


def answering(state: RunState, onward: Trace) -> Trace:
    """A trace that puts the answer of each round on standard output."""

    def trace(event: Event) -> None:
        onward(event)
        if isinstance(event, RunStopped) and event.run_id == state.run_id and state.answer:
            click.echo(state.answer)

    return trace


def _begin(
    here: Session, prompt: str | None, every: str | None, resume: str | None
) -> tuple[RunState, Schedule]:
    """The conversation and its tasks: as an earlier process left them, or new."""
    tasks = here.options.store_path.parent / "loops"
    if resume is not None:
        return here.load(resume), _kept(tasks / f"{resume}.json", resume)
    seconds = None if every is None else _interval(every)
    if prompt is None:
        prompt = _prompt(here)
    state = RunState.start("")
    state.messages = [Message("system", SYSTEM)]
    state.setup["command"] = "loop"
    schedule = Schedule(tasks / f"{state.run_id}.json")
    schedule.add(prompt, time.time(), seconds)
    return state, schedule


def _prompt(here: Session) -> str:
    try:
        prompt, source = loop_prompt(here.options.directory)
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    tell(f"prompt: {source}")
    return prompt


def _kept(path: Path, run_id: str) -> Schedule:
    """The tasks of an earlier loop."""
    if not path.exists():
        raise click.ClickException(f"run {run_id} is no loop: go on with it by `run --resume`")
    try:
        return Schedule(path)
    except ValueError as error:
        raise click.ClickException(f"{path} does not hold the tasks of a loop: {error}") from error


def _interval(text: str) -> float:
    try:
        seconds, words = parse_interval(text)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--every") from error
    if words:
        tell(words)
    if seconds > EXPIRY:
        tell(f"note: the loop ends {EXPIRY / DAY:g} days after it was made: {text} fires twice")
    return seconds
