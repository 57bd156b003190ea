"""The same call twice: what a cache saves and breaks."""

from __future__ import annotations

from fakeprovider_bench.options import Options, bench_command
from fakeprovider_bench.output.tables import usd
from fakeprovider_bench.policies import Policy, approve_all
from fakeprovider_bench.report import Report, Row
from fakeprovider_bench.session import report_of, run_rows, show
from fakeprovider_harness import MaxTurns, Settings
from fakeprovider_scenarios import find
from fakeprovider_scenarios.basics import BASELINE, WRITE

CAP = MaxTurns(20)
CACHE_NOTE = "a cache saves the execution and no tokens: the result is sent again all the same."


@bench_command(cacheable=True)
def duplicate(options: Options) -> None:
    """The same call twice: a read that may be cached, a write that may not.

    The last two rows delete a file twice, both times approved: a cache that does not know what a
    write is drops the second deletion; one for reads only runs both.
    """
    show(report(options), options)


def report(options: Options) -> Report:
    """The rows of this scenario."""
    rows = run_rows(find("duplicate"), policies(), options)
    return report_of("duplicate", rows, options, [extra(rows), CACHE_NOTE])


def policies() -> list[Policy]:
    """A single read, the repeated read without and with a cache, the repeated write."""
    return [
        Policy("baseline", CAP, script=BASELINE),
        Policy("repeated", CAP),
        Policy("repeated, cached", CAP, Settings(dedupe="read_only")),
        _write("write, naive cache", "all"),
        _write("write, read-only cache", "read_only"),
    ]


def _write(name: str, dedupe: str) -> Policy:
    settings = Settings(dedupe=dedupe)  # type: ignore[arg-type]  # one of two literals above
    return Policy(name, CAP, settings, decide=approve_all, script=WRITE)


def extra(rows: list[Row]) -> str:
    """What the repetition costs, in dollars and in percent of the baseline."""
    base, repeated = rows[0].cost_usd, rows[1].cost_usd
    if not base or repeated is None:
        return "what the repeated call costs is not known without a price."
    more = repeated - base
    return f"the repeated call costs {usd(more)} more ({100 * more / base:.1f} %)."
