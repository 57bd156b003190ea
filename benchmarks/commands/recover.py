"""`bench recover`: what an error message is worth."""

from __future__ import annotations

import click

from benchmarks.options import Options, cacheable, drivable, run_options
from benchmarks.policies import Policy
from benchmarks.report import Report
from benchmarks.session import bench, show
from harness import MaxTurns, Settings
from scenarios import find

CAP = 20


@click.command()
@drivable
@cacheable
@run_options
def recover(options: Options) -> None:
    """A guessed file name, under three error policies.

    \b
    fatal        a tool error ends the run
    opaque       the model reads that something failed, not what
    instructive  the model reads the tool's own words, which say what to do
    """
    show(report(options), options)


def report(options: Options) -> Report:
    """The rows of this scenario."""
    return bench(find("recover"), policies(), options)


def policies() -> list[Policy]:
    """The three error policies, under a cap that none of them needs."""
    return [
        Policy("fatal", MaxTurns(CAP), Settings(errors="fatal")),
        Policy("opaque", MaxTurns(CAP), Settings(errors="opaque")),
        Policy("instructive", MaxTurns(CAP), Settings(errors="instructive")),
    ]
