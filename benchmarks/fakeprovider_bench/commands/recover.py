"""A guessed file name, under three error policies."""

from __future__ import annotations

from fakeprovider_bench.options import Options, bench_command
from fakeprovider_bench.policies import Policy
from fakeprovider_bench.report import Report
from fakeprovider_bench.session import bench, show
from fakeprovider_harness import MaxTurns, Settings
from fakeprovider_scenarios import find

CAP = 20


@bench_command(drivable=True, cacheable=True)
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
