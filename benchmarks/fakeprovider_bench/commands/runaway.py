"""What a loop that never ends costs under each stop policy."""

from __future__ import annotations

from decimal import Decimal

import click

from fakeprovider_bench.options import COUNT, COUNTS, USDS, Options, bench_command
from fakeprovider_bench.policies import Policy, budgets, caps, prompt_only, token_limits
from fakeprovider_bench.report import Report
from fakeprovider_bench.session import bench, show
from fakeprovider_harness import MaxTurns
from fakeprovider_scenarios import find

PROMPT_CAP = 20
WEIGHED_BUDGETS = tuple(map(Decimal, ("0.01", "0.05", "0.10")))
WEIGHED_TOKENS = (10_000, 50_000)

NO_LIMIT = (
    "a runaway with no limit never ends: add --cap 8,20,50,100 (turns), "
    "--budget 0.01,0.05,0.10 (USD) or --max-tokens 50k"
)
PROMPT_NOTE = (
    "prompt-only: the system prompt asks to stop after {turns} calls, and the script goes on; "
    "what ended it is the cap of {cap} in code."
)


@bench_command(drivable=True, cacheable=True)
@click.option("--cap", type=COUNTS, help="Turn caps, one row each: 8,20,50,100.")
@click.option("--budget", type=USDS, help="Budgets in USD, one row each: 0.01,0.05,0.10.")
@click.option("--max-tokens", type=COUNTS, help="Limits on all tokens, one row each: 10k,50k.")
@click.option(
    "--prompt-cap",
    type=COUNT,
    default=PROMPT_CAP,
    show_default=True,
    help="Turns that the prompt-only row asks for in its system prompt.",
)
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
    policies = _policies(cap or (), budget or (), max_tokens or ())
    show(report(options, policies, prompt_cap), options)


def report(options: Options, policies: list[Policy], prompt_cap: int = PROMPT_CAP) -> Report:
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
            notes.append(PROMPT_NOTE.format(turns=prompt_cap, cap=stop.limit))
    return bench(find("runaway"), policies, options, notes)


def _policies(
    cap: tuple[int, ...], budget: tuple[Decimal, ...], max_tokens: tuple[int, ...]
) -> list[Policy]:
    return [*caps(cap), *budgets(budget), *token_limits(max_tokens)]


def _weighed(cap: int) -> list[Policy]:
    """What a user would weigh one cap against, each under that cap too."""
    return [*budgets(WEIGHED_BUDGETS, cap), *token_limits(WEIGHED_TOKENS, cap)]
