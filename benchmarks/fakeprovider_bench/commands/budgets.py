"""The same runaway under the same budgets, plain and reserved."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import click
import msgspec

from fakeprovider_bench.options import USDS, Options, bench_command
from fakeprovider_bench.output.tables import usd
from fakeprovider_bench.policies import Policy
from fakeprovider_bench.report import Report, Row
from fakeprovider_bench.runner import Shared, run_policy
from fakeprovider_bench.session import open_shared, report_of, show
from fakeprovider_harness import MaxCost, Settings
from fakeprovider_scenarios import find

BUDGETS = tuple(Decimal(mills) / 1000 for mills in (5, 10, 15, 20, 30, 40, 50, 60, 80, 100))
OUTPUT = 256  # tokens that each reply may have


@bench_command()
@click.option(
    "--budget",
    type=USDS,
    default=",".join(map(str, BUDGETS)),
    show_default=True,
    help="Budgets in USD, two rows each.",
)
def budgets(budget: tuple[Decimal, ...], options: Options) -> None:
    """The same runaway under the same budgets, plain and reserved.

    \b
    plain     checked after each turn: overshot by up to one turn
    reserved  the worst case of each request has to fit before it is sent: never overshot
    """
    show(report(options, budget), options)


def report(options: Options, limits: tuple[Decimal, ...] = BUDGETS) -> Report:
    """Two rows per budget."""
    with open_shared("budgets", options, find("runaway")) as shared:
        named = shared.line.each(policies(limits), lambda policy: policy.name)
        rows = [_row(policy, shared) for policy in named]
    return report_of("budgets", rows, options, list(_notes(rows)))


def policies(limits: tuple[Decimal, ...]) -> list[Policy]:
    """Each budget checked after each turn, and kept."""
    return [
        Policy(f"{name} {usd(limit)}", MaxCost(limit, reserve=reserve), Settings(max_output=OUTPUT))
        for limit in limits
        for name, reserve in (("plain", False), ("reserved", True))
    ]


def _row(policy: Policy, shared: Shared) -> Row:
    row = run_policy(find("runaway"), policy, shared)
    limit = policy.stop.limit if isinstance(policy.stop, MaxCost) else None
    left = None if row.cost_usd is None or limit is None else usd(limit - row.cost_usd)
    return msgspec.structs.replace(row, extra={"left": left})


def _notes(rows: list[Row]) -> Iterator[str]:
    for name in ("plain", "reserved"):
        over = [_overshoot(row) for row in rows if row.policy.startswith(name)]
        crossed = sum(amount > 0 for amount in over)
        yield (
            f"{name}: {crossed} of {len(over)} budgets overshot, "
            f"by {usd(max(over, default=Decimal(0)))} at most"
        )
    yield (
        "what a reserved budget leaves unspent is the price of its guarantee: a prompt is bounded "
        f"by its bytes, and a reply by the {OUTPUT} tokens it may have."
    )


def _overshoot(row: Row) -> Decimal:
    stop = row.stop
    return Decimal(0) if stop is None or stop.overshoot is None else Decimal(stop.overshoot)
