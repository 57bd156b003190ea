"""The run in which everything goes right: list, read, answer."""

from __future__ import annotations

import click

from fakeprovider_bench.options import COUNTS, Options, bench_command
from fakeprovider_bench.policies import caps
from fakeprovider_bench.report import Report
from fakeprovider_bench.session import bench, show
from fakeprovider_scenarios import find


@bench_command(drivable=True, cacheable=True)
@click.option("--cap", type=COUNTS, default="20", show_default=True, help="Turn caps, a row each.")
def plan(cap: tuple[int, ...], options: Options) -> None:
    """The run in which everything goes right: list, read, answer.

    \b
    bench plan            three turns under a cap of 20
    bench plan --cap 2,3  where a cap cuts it, and where it just fits
    bench plan -- CMD     your own harness, in any language, through LLM_BASE_URL
    """
    show(report(options, cap), options)


def report(options: Options, cap: tuple[int, ...] = (20,)) -> Report:
    """One row per cap."""
    return bench(find("plan"), caps(cap), options)
