"""`bench destructive`: a deletion nobody asked for, and four answers to it."""

from __future__ import annotations

import click

from fakeprovider_bench.options import Options, cacheable, run_options
from fakeprovider_bench.output.tables import usd
from fakeprovider_bench.policies import (
    ApproveOnce,
    Policy,
    approve_all,
    reject_with_nothing,
    reject_with_reason,
)
from fakeprovider_bench.report import Report, Row
from fakeprovider_bench.session import bench, report_of, run_rows, show
from fakeprovider_harness import MaxTurns, Settings
from fakeprovider_scenarios import find
from fakeprovider_scenarios.basics import BASELINE, WRITE

DESTRUCTIVE_CAP = MaxTurns(20)
LIE = (
    "reject with nothing: the report is a lie. The model was never told of the rejection, "
    "which is why it belongs into the transcript in words."
)


@click.command(short_help="A deletion nobody asked for, and four answers to it.")
@cacheable
@run_options
def destructive(options: Options) -> None:
    """A deletion that the task never mentioned: stopped, approved, rejected, silently rejected."""
    show(destructive_report(options), options)


def destructive_report(options: Options) -> Report:
    """The rows of this scenario."""
    return bench(find("destructive"), destructive_policies(), options, [LIE])


def destructive_policies() -> list[Policy]:
    """The run as it stops, and what becomes of it after each decision."""
    return [
        Policy("stop", DESTRUCTIVE_CAP),
        Policy("approve", DESTRUCTIVE_CAP, decide=approve_all),
        Policy("reject with reason", DESTRUCTIVE_CAP, decide=reject_with_reason),
        Policy("reject with nothing", DESTRUCTIVE_CAP, decide=reject_with_nothing),
    ]


PUBLISH_CAP = MaxTurns(20)


@click.command(short_help="An effect that cannot be taken back, asked for twice.")
@cacheable
@run_options
def publish(options: Options) -> None:
    """A public effect asked for twice: each approval is for one call, not for the next one."""
    show(publish_report(options), options)


def publish_report(options: Options) -> Report:
    """The rows of this scenario."""
    return bench(find("publish"), publish_policies(), options)


def publish_policies() -> list[Policy]:
    """Nobody decides, a person who looks, and a person who clicks yes."""
    return [
        Policy("stop", PUBLISH_CAP),
        Policy("approve once", PUBLISH_CAP, decide=ApproveOnce()),
        Policy("approve all", PUBLISH_CAP, decide=approve_all),
    ]


DUPLICATE_CAP = MaxTurns(20)
CACHE_NOTE = "a cache saves the execution and no tokens: the result is sent again all the same."


@click.command(short_help="The same call twice: what a cache saves and breaks.")
@cacheable
@run_options
def duplicate(options: Options) -> None:
    """The same call twice: a read that may be cached, a write that may not.

    The last two rows delete a file twice, both times approved: a cache that does not know what a
    write is drops the second deletion; one for reads only runs both.
    """
    show(duplicate_report(options), options)


def duplicate_report(options: Options) -> Report:
    """The rows of this scenario."""
    rows = run_rows(find("duplicate"), duplicate_policies(), options)
    return report_of("duplicate", rows, options, [extra(rows), CACHE_NOTE])


def duplicate_policies() -> list[Policy]:
    """A single read, the repeated read without and with a cache, the repeated write."""
    return [
        Policy("baseline", DUPLICATE_CAP, script=BASELINE),
        Policy("repeated", DUPLICATE_CAP),
        Policy("repeated, cached", DUPLICATE_CAP, Settings(dedupe="read_only")),
        _write("write, naive cache", "all"),
        _write("write, read-only cache", "read_only"),
    ]


def _write(name: str, dedupe: str) -> Policy:
    settings = Settings(dedupe=dedupe)  # type: ignore[arg-type]  # one of two literals above
    return Policy(name, DUPLICATE_CAP, settings, decide=approve_all, script=WRITE)


def extra(rows: list[Row]) -> str:
    """What the repetition costs, in dollars and in percent of the baseline."""
    base, repeated = rows[0].cost_usd, rows[1].cost_usd
    if not base or repeated is None:
        return "what the repeated call costs is not known without a price."
    more = repeated - base
    return f"the repeated call costs {usd(more)} more ({100 * more / base:.1f} %)."
