"""`python -m fakeprovider_bench.speed`: how fast provider and harness are, and who grows."""

from __future__ import annotations

import click
from rich.console import Console
from rich.live import Live
from rich.table import Table

from fakeprovider_bench.speed import kit, loop, memory, pace, processes, provider, startup


@click.group(invoke_without_command=True)
@click.pass_context
def main(context: click.Context) -> None:
    """Measure provider, harness, test kit, start-up and memory; all of them without a command."""
    if context.invoked_subcommand is None:
        for command in (show_provider, show_harness, show_kit, show_startup, show_memory):
            context.invoke(command)


@main.command("provider")
@click.option("--seconds", default=1.0, show_default=True, help="Length of one round.")
@click.option("--rounds", default=5, show_default=True, help="Rounds; the median counts.")
def show_provider(seconds: float, rounds: int) -> None:
    """Requests per second beside a static Starlette route under the same uvicorn."""
    table = Table("turns", "load", "req/s", "static", "ratio", "aim", "CPU us", "static", "ratio")
    with Live(table):
        for row in provider.measure(seconds, rounds):
            table.add_row(
                str(row.turns),
                row.kind,
                f"{row.rate:,.0f}",
                f"{row.static_rate:,.0f}",
                f"{row.ratio:.2f}",
                str(provider.AIMS[row.turns]) if row.kind == "same" else "",
                f"{row.cpu_us:,.0f}",
                f"{row.static_cpu_us:,.0f}",
                f"{row.cpu_ratio:.2f}",
            )


@main.command("memory")
@click.option("--conversations", default=100_000, show_default=True)
@click.option("--quick", is_flag=True, help="A tenth of them.")
def show_memory(conversations: int, quick: bool) -> None:
    """Megabytes of a server that answers very many different conversations."""
    table = Table("conversations", "MiB")
    with Live(table):
        for sample in memory.measure(conversations // 10 if quick else conversations):
            table.add_row(f"{sample.conversations:,}", f"{sample.mib:.0f}")


@main.command("harness")
@click.option("--runs", default=200, show_default=True, help="Three-turn runs of each kind.")
def show_harness(runs: int) -> None:
    """The harness's time per three-turn run beside a raw httpx loop of three requests."""
    with processes.provider() as server:
        speed = loop.measure(f"http://127.0.0.1:{server.port}/v1", runs)
    table = Table("runs", "raw loop ms", "harness ms", "ratio", "aim")
    table.add_row(
        str(speed.runs),
        f"{speed.raw_ms:.2f}",
        f"{speed.harness_ms:.2f}",
        f"{speed.ratio:.2f}",
        "1.5",
    )
    Console().print(table)


@main.command("kit")
@click.option("--examples", default=500, show_default=True, help="Examples of each way.")
def show_kit(examples: int) -> None:
    """Examples of a property a second, of three requests each, in process and over a socket."""
    table = Table("examples", "way", "examples/s", "requests/s")
    for row in kit.measure(examples):
        table.add_row(str(row.examples), row.way, f"{row.rate:,.0f}", f"{3 * row.rate:,.0f}")
    Console().print(table)


@main.command("startup")
@click.option("--rounds", default=15, show_default=True, help="Rounds; the median counts.")
def show_startup(rounds: int) -> None:
    """Whole processes beside the imports that they cannot do without."""
    table = Table("command", "ms", "beside", "ms", "ratio", "aim, at most")
    with Live(table):
        for start in startup.measure(rounds):
            table.add_row(
                start.command,
                f"{start.ms:.0f}",
                start.yardstick,
                f"{start.yardstick_ms:.0f}",
                f"{start.ratio:.2f}",
                start.aim,
            )


@main.command("pace")
@click.option("--streams", default=200, show_default=True, help="Streams at once.")
@click.option(
    "--words",
    default="latency=500,tps=20,jitter=0.2",
    show_default=True,
    help="The pace, as in a path.",
)
def show_pace(streams: int, words: str) -> None:
    """Many paced streams at once: what was asked for against what a client measured."""
    table = Table(f"{streams} streams", "asked ms", "measured ms", "late p95 ms", "late max ms")
    for row in pace.measure(streams, words):
        figures = (row.asked_ms, row.measured_ms, row.late_p95_ms, row.late_max_ms)
        table.add_row(row.what, *(f"{figure:.0f}" for figure in figures))
    Console().print(table)


if __name__ == "__main__":
    main()
