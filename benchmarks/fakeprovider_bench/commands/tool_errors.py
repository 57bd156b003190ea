"""`bench recover`: what an error message is worth."""

from __future__ import annotations

import click

from fakeprovider_bench.options import COUNT, Options, cacheable, drivable, run_options
from fakeprovider_bench.policies import Policy
from fakeprovider_bench.report import Report
from fakeprovider_bench.session import bench, report_of, run_rows, show
from fakeprovider_harness import MaxTurns, Settings
from fakeprovider_scenarios import find

RECOVER_CAP = 20


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
    show(recover_report(options), options)


def recover_report(options: Options) -> Report:
    """The rows of this scenario."""
    return bench(find("recover"), recover_policies(), options)


def recover_policies() -> list[Policy]:
    """The three error policies, under a cap that none of them needs."""
    return [
        Policy("fatal", MaxTurns(RECOVER_CAP), Settings(errors="fatal")),
        Policy("opaque", MaxTurns(RECOVER_CAP), Settings(errors="opaque")),
        Policy("instructive", MaxTurns(RECOVER_CAP), Settings(errors="instructive")),
    ]


DENIED_CAP = 12
MENDED = Policy("mended (recover)", MaxTurns(20), Settings(errors="instructive"))


@click.command(short_help="An error that no retry can mend, and who notices.")
@click.option(
    "--cap", type=COUNT, default=DENIED_CAP, show_default=True, help="Turn cap of all rows."
)
@drivable
@cacheable
@run_options
def denied(cap: int, options: Options) -> None:
    """A file that may not be read, asked for until something stops the run.

    The first row, to compare with, is an error that the model can mend (`bench recover`). The next
    treats a permanent error like any other; then the model is told that a retry is pointless (this
    script does not listen); then a permanent error ends the run.
    """
    show(denied_report(options, cap), options)


def denied_report(options: Options, cap: int = DENIED_CAP) -> Report:
    """The rows of this scenario."""
    if options.command:
        return bench(find("denied"), denied_policies(cap), options)
    rows = run_rows(find("recover"), [MENDED], options)
    rows += run_rows(find("denied"), denied_policies(cap), options)
    return report_of("denied", rows, options)


def denied_policies(cap: int) -> list[Policy]:
    """Permanent errors as errors like any other, told apart in words, and stopping the run."""
    return [
        Policy(f"cap {cap}", MaxTurns(cap), Settings(permanent="as_error")),
        Policy("told permanent", MaxTurns(cap), Settings(permanent="tell")),
        Policy("permanent stops", MaxTurns(cap), Settings(permanent="stop")),
    ]
