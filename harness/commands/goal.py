"""`python -m harness goal`: work until a second, smaller model says that the goal is met."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import click

from harness.charging import Pricing
from harness.commands.again import advice
from harness.commands.options import USD, Options, cap_options, said, shared_options
from harness.commands.session import SYSTEM, Session, caps, check_of, session
from harness.commands.terminal import tell
from harness.commands.waiting import shown
from harness.models.base import Model
from harness.models.factory import make_model
from harness.outer import Goal, OuterKind, OuterStop, goal
from harness.prices import Price
from harness.state import RunState
from harness.trace import Event, RunStopped, Trace
from harness.verify.evaluator import Evaluator


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
    max_iterations: int | None,
    max_seconds: float | None,
    unlimited: bool,
    options: Options,
) -> None:
    """Work on TEXT until an evaluator, asked each time the agent stops, says that it is met.

    \b
    python -m harness goal "pytest exits with 0, or stop after 20 turns" --max-iterations 10
    """
    said(text, "say the goal, or --resume RUN_ID")
    limits = caps(options, max_iterations, max_seconds, unlimited)
    price = _price(options, evaluator_price_in, evaluator_price_out)
    verifier = check_of(check, options)
    with session(options) as here:
        judge = _judge(options, evaluator_url, evaluator)
        state = _state(here, text, resume)
        tell(f"goal {state.run_id}")
        wanted = Goal(
            text=state.setup["goal"],
            evaluator=Evaluator(judge, state.setup["goal"], price=price),
            check=verifier,
        )
        setup = replace(here.setup, trace=without_end(state.run_id, here.setup.trace))
        report = here.drive(goal(state, wanted, setup, limits))
        if state.answer:
            click.echo(state.answer)
        here.finish(report, _go_on(state, report.stop))


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


def _go_on(state: RunState, stop: OuterStop) -> str | None:
    """How to go on with a goal, None where its run cannot: its limits count over all processes."""
    if not state.resumable:
        return None
    kind = stop.kind if stop.kind is not OuterKind.RUN_STOPPED else str(stop.evidence.get("run"))
    return advice(state.run_id, kind, stop.limit)


def _state(here: Session, text: str | None, resume: str | None) -> RunState:
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
