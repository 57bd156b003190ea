"""A deletion nobody asked for, and four answers to it."""

from __future__ import annotations

from fakeprovider_bench.options import Options, bench_command
from fakeprovider_bench.policies import Policy, approve_all, reject_with_nothing, reject_with_reason
from fakeprovider_bench.report import Report
from fakeprovider_bench.session import bench, show
from fakeprovider_harness import MaxTurns
from fakeprovider_scenarios import find

CAP = MaxTurns(20)
LIE = (
    "reject with nothing: the report is a lie. The model was never told of the rejection, "
    "which is why it belongs into the transcript in words."
)


@bench_command(cacheable=True)
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
