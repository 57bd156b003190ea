"""`goal`, `loop` and `ralph`: the loops around the loop, on a real endpoint."""

from __future__ import annotations

import time
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import click

from fakeprovider_harness.budget.charging import Price, Pricing
from fakeprovider_harness.commands.options import (
    TURNS,
    USD,
    Options,
    cap_options,
    refuse_empty,
    shared_options,
)
from fakeprovider_harness.commands.resume_command import advice, command_line
from fakeprovider_harness.commands.session import SYSTEM, Session, caps, check_of, session
from fakeprovider_harness.commands.terminal import shown, tell
from fakeprovider_harness.models.base import Message, Model
from fakeprovider_harness.models.client import make_model
from fakeprovider_harness.outer import (
    Goal,
    OuterKind,
    OuterStop,
    Ralph,
    Schedule,
    goal,
    loop,
    loop_prompt,
    parse_interval,
    ralph,
)
from fakeprovider_harness.outer.interval_loop import DAY, EXPIRY
from fakeprovider_harness.outer.plan_file import read_text
from fakeprovider_harness.outer.ralph import PROMPT
from fakeprovider_harness.state import RunState
from fakeprovider_harness.trace import Event, RunStopped, Trace
from fakeprovider_harness.verify.evaluator import Evaluator


@click.command("goal")
@click.argument("text", required=False)
@click.option("--evaluator", metavar="MODEL", help="The evaluator's model. [default: --model]")
@click.option("--evaluator-url", help="Where the evaluator is. [default: --base-url]")
@click.option("--evaluator-price-in", type=USD, help="USD per million. [default: --price-in]")
@click.option("--evaluator-price-out", type=USD, help="USD per million. [default: --price-out]")
@click.option("--check", metavar="COMMAND", help="Has to exit with 0 as well.")
@click.option("--resume", metavar="RUN_ID", help="Go on with an earlier goal.")
@cap_options
@shared_options
def goal_command(
    text: str | None,
    evaluator: str | None,
    evaluator_url: str | None,
    evaluator_price_in: Decimal | None,
    evaluator_price_out: Decimal | None,
    check: str | None,
    resume: str | None,
    options: Options,
) -> None:
    """Work on TEXT until an evaluator, asked each time the agent stops, says that it is met.

    \b
    fakeprovider-harness goal "pytest exits with 0, or stop after 20 turns" --max-iterations 10
    """
    refuse_empty(text, "say the goal, or --resume RUN_ID")
    limits, price = caps(options), _price(options, evaluator_price_in, evaluator_price_out)
    verifier = check_of(check, options)
    with session(options) as here:
        judge = _judge(options, evaluator_url, evaluator)
        state = _goal_state(here, text, resume)
        tell(f"goal {state.run_id}")
        text = state.setup["goal"]
        wanted = Goal(text=text, evaluator=Evaluator(judge, text, price=price), check=verifier)
        setup = replace(here.setup, trace=without_end(state.run_id, here.setup.trace))
        report = here.drive(goal(state, wanted, setup, limits))
        if state.answer:
            click.echo(state.answer)
        here.finish(report, _resume_goal(state, report.stop))


def without_end(run_id: str, onward: Trace) -> Trace:
    """A trace without the end of the run: what the goal came to is said by its report."""

    def trace(event: Event) -> None:
        if not isinstance(event, RunStopped) or event.run_id != run_id:
            onward(event)

    return trace


def _judge(options: Options, url: str | None, name: str | None) -> Model:
    try:
        model = make_model(options.protocol, url or options.base_url, name or options.model)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--evaluator-url") from error
    return shown(model, quiet=options.quiet)


def _price(options: Options, into: Decimal | None, out: Decimal | None) -> Pricing:
    """The evaluator's price, by default that of the model."""
    if (into is None) != (out is None):
        raise click.UsageError("give both --evaluator-price-in and --evaluator-price-out")
    return options.price if into is None or out is None else Price(into, out)


def _resume_goal(state: RunState, stop: OuterStop) -> str | None:
    """How to go on with a goal, None where its run cannot: its limits count over all processes."""
    if not state.resumable:
        return None
    kind = stop.kind if stop.kind is not OuterKind.RUN_STOPPED else str(stop.evidence.get("run"))
    return advice(state.run_id, kind, stop.limit)


def _goal_state(here: Session, text: str | None, resume: str | None) -> RunState:
    if (text is None) == (resume is None):
        raise click.UsageError("say the goal, or --resume RUN_ID; not both")
    if resume is not None:
        state = here.load(resume)
        if "goal" not in state.setup:
            raise click.ClickException(f"run {resume} has no goal: go on with it by `run --resume`")
        return state
    state = RunState.start(str(text), system=SYSTEM)
    state.setup.update(command="goal", goal=str(text))
    return state


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
    options: Options,
) -> None:
    """Say PROMPT again and again in one conversation; it fires only between runs.

    Without PROMPT: `loop.md` of the project, then of the user, else a maintenance prompt. An
    interval ends on Ctrl-C, after seven days or at a cap; at its own pace the model says when to go
    on and why, and may end it.

    \b
    fakeprovider-harness loop "Is the build green?" --every 5m --max-iterations 12
    """
    refuse_empty(prompt, "say the prompt, or leave it out for that of loop.md")
    if resume is not None and (prompt is not None or every is not None):
        raise click.UsageError("a loop that goes on has its prompt and its interval already")
    limits = caps(options)
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


@click.command("ralph")
@click.option("--plan", default="plan.md", show_default=True, help="The plan, in --dir.")
@click.option(
    "--prompt-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The prompt instead of the built-in one; {item} and {plan} are filled in.",
)
@click.option("--check", metavar="COMMAND", help="Judges the project after each iteration.")
@click.option("--marker", help="A word with which the agent may end the loop.")
@click.option("--rounds", type=click.IntRange(min=1), default=3, show_default=True)
@click.option("--commit", is_flag=True, help="Have git record each iteration.")
@cap_options
@shared_options
def ralph_command(
    prompt_file: Path | None, check: str | None, options: Options, **settings: Any
) -> None:
    """The same prompt to a fresh run each time; what is known stands in files of --dir.

    It ends when the plan is empty, at a cap, after --rounds iterations without progress, on Ctrl-C
    or when there is a file `.ralph/stop`. Started again, it goes on from what is on disk.

    \b
    fakeprovider-harness ralph --dir project --check "pytest -q" --max-iterations 20 --commit
    """
    limits = caps(options)
    prompt = PROMPT if prompt_file is None else _read(prompt_file)
    verifier = check_of(check, options)
    with session(options, stop_default=TURNS) as here:
        loop = Ralph(
            root=options.directory,
            prompt=prompt,
            system=SYSTEM,
            check=verifier,
            **settings,  # plan, marker, rounds and commit, as `Ralph` has them
        )
        report = here.drive(ralph(loop, here.setup, limits))
        here.finish(report, _resume_ralph(report.stop))


def _resume_ralph(stop: OuterStop) -> str:
    """How to go on with a plan; a file that stopped the loop has to go first."""
    file = stop.evidence.get("file")
    if file is not None:
        return f"remove {file}, then: {command_line(None)}"
    return advice(None, stop.kind, stop.limit)


def _read(path: Path) -> str:
    try:
        return read_text(path)
    except (OSError, ValueError) as error:
        raise click.BadParameter(str(error), param_hint="--prompt-file") from error
