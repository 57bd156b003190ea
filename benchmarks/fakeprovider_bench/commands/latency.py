"""Who uses the time, and how long nothing is seen."""

from __future__ import annotations

import time
from dataclasses import replace

import click
import msgspec

from fakeprovider_bench.options import Count, Options, Several, bench_command
from fakeprovider_bench.policies import Policy
from fakeprovider_bench.report import Report, Row
from fakeprovider_bench.runner import Shared, run_policy
from fakeprovider_bench.session import open_shared, report_of, show
from fakeprovider_harness import MaxTurns
from fakeprovider_harness.trace import Event
from fakeprovider_scenarios import find

LATENCY = (0, 100, 500, 2000)
LONGEST = 86_400_000  # ms: a day, the most that the provider waits
NOTE = (
    "silence: the longest time in which a person sees nothing, with the trace's events shown "
    "as they happen, and without (only the answer at the end)."
)


@bench_command()
@click.option(
    "--latency",
    type=Several(Count(LONGEST)),
    default=",".join(map(str, LATENCY)),
    show_default=True,
    help="Milliseconds that the provider waits before each reply, one row each.",
)
def latency(latency: tuple[int, ...], options: Options) -> None:
    """Three turns against a slow provider: N times its latency, and the harness's own share."""
    if options.base_url:
        raise click.UsageError(
            "bench latency sets the provider's pace, so it needs its own one: drop --base-url, and "
            "unset LLM_BASE_URL"
        )
    show(report(options, latency), options)


def report(options: Options, latency: tuple[int, ...] = LATENCY) -> Report:
    """One row per latency, in milliseconds."""
    scenario = find("plan")
    with open_shared("latency", options, scenario) as shared:
        named = shared.line.each(latency, lambda milliseconds: f"{milliseconds} ms")
        rows = [_row(milliseconds, shared) for milliseconds in named]
    return report_of("latency", rows, options, [NOTE])


def _row(milliseconds: int, shared: Shared) -> Row:
    silence = Silence(shared)
    policy = Policy(f"{milliseconds} ms", MaxTurns(20), script=f"plan;latency={milliseconds}")
    row = run_policy(find("plan"), policy, replace(shared, trace=silence))
    longest = silence.longest()
    extra = {
        "provider ms": round(row.turns * milliseconds),
        "wall ms": round(row.wall_ms),
        "harness ms": row.harness_ms,
        "silence ms": round(longest),
        "silence without events ms": round(row.wall_ms),
    }
    return msgspec.structs.replace(row, extra=extra)


class Silence:
    """Passes the trace on and keeps the longest gap between two events, in ms."""

    def __init__(self, shared: Shared) -> None:
        self._onward = shared.trace
        self._last = time.perf_counter()
        self._longest = 0.0

    def __call__(self, event: Event) -> None:
        now = time.perf_counter()
        self._longest = max(self._longest, now - self._last)
        self._last = now
        self._onward(event)

    def longest(self) -> float:
        """The longest gap so far, in ms."""
        return self._longest * 1000
