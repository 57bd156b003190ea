"""`bench plan`: the run in which everything goes right."""

from __future__ import annotations

import click

from benchmarks.amounts import COUNTS
from benchmarks.options import Options, cacheable, drivable, run_options
from benchmarks.policies import caps
from benchmarks.report import Report
from benchmarks.session import bench, show
from scenarios import find


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
    show(report(options, cap), options)


def report(options: Options, cap: tuple[int, ...] = (20,)) -> Report:
    """One row per cap."""
    return bench(find("plan"), caps(cap), options)
