"""`bench destructive`: a deletion nobody asked for, and four answers to it."""

from __future__ import annotations

import click

from benchmarks.decisions import approve_all, reject_with_nothing, reject_with_reason
from benchmarks.options import Options, cacheable, run_options
from benchmarks.policies import Policy
from benchmarks.report import Report
from benchmarks.session import bench, show
from harness import MaxTurns
from scenarios import find

CAP = MaxTurns(20)
LIE = (
    "reject with nothing: the report is a lie. The model was never told of the rejection, "
    "which is why it belongs into the transcript in words."
)


@click.command(short_help="A deletion nobody asked for, and four answers to it.")
@cacheable
@run_options
def destructive(options: Options) -> None:
    """A deletion that the task never mentioned: stopped, approved, rejected, silently rejected."""
    show(report(options), options)


def report(options: Options) -> Report:
    """The rows of this scenario."""
    return bench(find("destructive"), policies(), options, [LIE])


def policies() -> list[Policy]:
    """The run as it stops, and what becomes of it after each decision."""
    return [
        Policy("stop", CAP),
        Policy("approve", CAP, decide=approve_all),
        Policy("reject with reason", CAP, decide=reject_with_reason),
        Policy("reject with nothing", CAP, decide=reject_with_nothing),
    ]
