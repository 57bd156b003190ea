"""An error that no retry can mend, and who notices."""

from __future__ import annotations

import click

from fakeprovider_bench.options import COUNT, Options, bench_command
from fakeprovider_bench.policies import Policy
from fakeprovider_bench.report import Report
from fakeprovider_bench.session import bench, report_of, run_rows, show
from fakeprovider_harness import MaxTurns, Settings
from fakeprovider_scenarios import find

CAP = 12
MENDED = Policy("mended (recover)", MaxTurns(20), Settings(errors="instructive"))


@bench_command(drivable=True, cacheable=True)
@click.option("--cap", type=COUNT, default=CAP, show_default=True, help="Turn cap of all rows.")
def denied(cap: int, options: Options) -> None:
    """A file that may not be read, asked for until something stops the run.

    The first row, to compare with, is an error that the model can mend (`bench recover`). The next
    treats a permanent error like any other; then the model is told that a retry is pointless (this
    script does not listen); then a permanent error ends the run.
    """
    show(report(options, cap), options)


def report(options: Options, cap: int = CAP) -> Report:
    """The rows of this scenario."""
    if options.command:
        return bench(find("denied"), policies(cap), options)
    rows = run_rows(find("recover"), [MENDED], options)
    rows += run_rows(find("denied"), policies(cap), options)
    return report_of("denied", rows, options)


def policies(cap: int) -> list[Policy]:
    """Permanent errors as errors like any other, told apart in words, and stopping the run."""
    return [
        Policy(f"cap {cap}", MaxTurns(cap), Settings(permanent="as_error")),
        Policy("told permanent", MaxTurns(cap), Settings(permanent="tell")),
        Policy("permanent stops", MaxTurns(cap), Settings(permanent="stop")),
    ]
