"""`bench long`: forty turns of honest work, and the cap that cuts them."""

from __future__ import annotations

import click

from benchmarks.amounts import COUNTS
from benchmarks.options import Options, cacheable, drivable, run_options
from benchmarks.policies import caps
from benchmarks.report import Report
from benchmarks.session import bench, show
from scenarios import find

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
    show(report(options, cap), options)


def report(options: Options, cap: tuple[int, ...] = CAPS) -> Report:
    """One row per cap."""
    return bench(find("long"), caps(cap), options)
