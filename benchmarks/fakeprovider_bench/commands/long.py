"""Forty turns of real progress, which a cap of 20 cuts."""

from __future__ import annotations

import click

from fakeprovider_bench.options import COUNTS, Options, bench_command
from fakeprovider_bench.policies import caps
from fakeprovider_bench.report import Report
from fakeprovider_bench.session import bench, show
from fakeprovider_scenarios import find

CAPS = (20, 50)


@bench_command(drivable=True, cacheable=True)
@click.option(
    "--cap",
    type=COUNTS,
    default=",".join(map(str, CAPS)),
    show_default=True,
    help="Turn caps, a row each.",
)
def long_command(cap: tuple[int, ...], options: Options) -> None:
    """Forty turns of real progress: what a cap of 20 cuts and a cap of 50 lets through.

    \b
    bench long            cut in the middle, and completed
    bench long -- CMD     does your own harness let honest work finish?
    """
    show(report(options, cap), options)


def report(options: Options, cap: tuple[int, ...] = CAPS) -> Report:
    """One row per cap."""
    return bench(find("long"), caps(cap), options)
