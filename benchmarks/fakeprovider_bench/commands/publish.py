"""An effect that cannot be taken back, asked for twice."""

from __future__ import annotations

from fakeprovider_bench.options import Options, bench_command
from fakeprovider_bench.policies import ApproveOnce, Policy, approve_all
from fakeprovider_bench.report import Report
from fakeprovider_bench.session import bench, show
from fakeprovider_harness import MaxTurns
from fakeprovider_scenarios import find

CAP = MaxTurns(20)


@bench_command(cacheable=True)
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
