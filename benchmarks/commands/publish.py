"""`bench publish`: an effect that cannot be taken back, asked for twice."""

from __future__ import annotations

import click

from benchmarks.decisions import ApproveOnce, approve_all
from benchmarks.options import Options, cacheable, run_options
from benchmarks.policies import Policy
from benchmarks.report import Report
from benchmarks.session import bench, show
from harness import MaxTurns
from scenarios import find

CAP = MaxTurns(20)


@click.command(short_help="An effect that cannot be taken back, asked for twice.")
@cacheable
@run_options
def publish(options: Options) -> None:
    """A public effect asked for twice: each approval is for one call, not for the next one."""
    show(report(options), options)


def report(options: Options) -> Report:
    """The rows of this scenario."""
    return bench(find("publish"), policies(), options)


def policies() -> list[Policy]:
    """Nobody decides, a person who looks, and a person who clicks yes."""
    return [
        Policy("stop", CAP),
        Policy("approve once", CAP, decide=ApproveOnce()),
        Policy("approve all", CAP, decide=approve_all),
    ]
