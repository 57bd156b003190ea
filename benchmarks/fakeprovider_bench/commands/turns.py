"""`bench runaway`: what a loop that never ends costs under each way of ending it."""

from __future__ import annotations

from decimal import Decimal

import click

from fakeprovider_bench.options import (
    COUNT,
    COUNTS,
    USDS,
    Options,
    cacheable,
    drivable,
    run_options,
)
from fakeprovider_bench.policies import Policy, budgets, caps, prompt_only, token_limits
from fakeprovider_bench.report import Report
from fakeprovider_bench.session import bench, show
from fakeprovider_harness import MaxTurns
from fakeprovider_scenarios import find

ASKED_IN_PROMPT = 20
WEIGHED_BUDGETS = tuple(map(Decimal, ("0.01", "0.05", "0.10")))
WEIGHED_TOKENS = (10_000, 50_000)

NO_LIMIT = (
    "a runaway with no limit never ends: add --cap 8,20,50,100 (turns), "
    "--budget 0.01,0.05,0.10 (USD) or --max-tokens 50k"
)
PROMPT_NOTE = (
    "prompt-only: the system prompt asks to stop after {asked} calls, and the script goes on; "
    "what ended it is the cap of {cap} in code."
)


@click.command()
@click.option("--cap", type=COUNTS, help="Turn caps, one row each: 8,20,50,100.")
@click.option("--budget", type=USDS, help="Budgets in USD, one row each: 0.01,0.05,0.10.")
@click.option("--max-tokens", type=COUNTS, help="Limits on all tokens, one row each: 10k,50k.")
@click.option(
    "--prompt-cap",
    type=COUNT,
    default=ASKED_IN_PROMPT,
    show_default=True,
    help="Turns that the prompt-only row asks for in its system prompt.",
)
@drivable
@cacheable
@run_options
def runaway(
    cap: tuple[int, ...] | None,
    budget: tuple[Decimal, ...] | None,
    max_tokens: tuple[int, ...] | None,
    prompt_cap: int,
    options: Options,
) -> None:
    """What a loop that never ends costs under each stop policy.

    \b
    bench runaway --cap 50                  the cap beside the budgets to weigh it against
    bench runaway --cap 8,20,50,100         what raising a cap costs
    bench runaway --budget 0.01,0.05,0.10   money as the limit
    bench runaway --cap 50 --base-tokens 20000   the same cap with a real system prompt
    bench runaway --cap 50 -- node agent.js      your own harness, cut off after 50 requests
    """
    if not cap and not budget and not max_tokens:
        raise click.UsageError(NO_LIMIT)
    policies = _asked(cap or (), budget or (), max_tokens or ())
    show(runaway_report(options, policies, prompt_cap), options)


def runaway_report(
    options: Options, policies: list[Policy], prompt_cap: int = ASKED_IN_PROMPT
) -> Report:
    """One row per policy; a single turn cap is shown beside what it might be weighed against."""
    notes = []
    stop = policies[0].stop
    if (
        not options.command
        and len(policies) == 1
        and isinstance(stop, MaxTurns)
        and stop.limit is not None
    ):
        policies = [*policies, *_weighed(stop.limit)]
        if stop.limit > prompt_cap:  # else nobody could see that the script goes on
            policies.append(prompt_only(prompt_cap, stop.limit))
            notes.append(PROMPT_NOTE.format(asked=prompt_cap, cap=stop.limit))
    return bench(find("runaway"), policies, options, notes)


def _asked(
    cap: tuple[int, ...], budget: tuple[Decimal, ...], max_tokens: tuple[int, ...]
) -> list[Policy]:
    return [*caps(cap), *budgets(budget), *token_limits(max_tokens)]


def _weighed(cap: int) -> list[Policy]:
    """What a user would weigh one cap against, each under that cap too."""
    return [*budgets(WEIGHED_BUDGETS, cap), *token_limits(WEIGHED_TOKENS, cap)]


CAPS = (20, 50)


@click.command("long", short_help="Forty turns of real progress, which a cap of 20 cuts.")
@click.option(
    "--cap",
    type=COUNTS,
    default=",".join(map(str, CAPS)),
    show_default=True,
    help="Turn caps, a row each.",
)
@drivable
@cacheable
@run_options
def long_command(cap: tuple[int, ...], options: Options) -> None:
    """Forty turns of real progress: what a cap of 20 cuts and a cap of 50 lets through.

    \b
    bench long            cut in the middle, and completed
    bench long -- CMD     does your own harness let honest work finish?
    """
    show(long_report(options, cap), options)


def long_report(options: Options, cap: tuple[int, ...] = CAPS) -> Report:
    """One row per cap."""
    return bench(find("long"), caps(cap), options)


@click.command()
@click.option("--cap", type=COUNTS, default="20", show_default=True, help="Turn caps, a row each.")
@drivable
@cacheable
@run_options
def plan(cap: tuple[int, ...], options: Options) -> None:
    """The run in which everything goes right: list, read, answer.

    \b
    bench plan            three turns under a cap of 20
    bench plan --cap 2,3  where a cap cuts it, and where it just fits
    bench plan -- CMD     your own harness, in any language, through LLM_BASE_URL
    """
    show(plan_report(options, cap), options)


def plan_report(options: Options, cap: tuple[int, ...] = (20,)) -> Report:
    """One row per cap."""
    return bench(find("plan"), caps(cap), options)
