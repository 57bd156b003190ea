"""A process killed with SIGKILL; another one goes on."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

import click
import msgspec

from fakeprovider_bench.options import COUNT, Options, bench_command
from fakeprovider_bench.report import Report, Row
from fakeprovider_bench.restart import Spec, store_path
from fakeprovider_bench.runner import Shared, to_row
from fakeprovider_bench.session import open_shared, report_of, show
from fakeprovider_harness import Store
from fakeprovider_scenarios import Workspace, find

KILL_AFTER = 2  # turns
SECONDS = 60


@bench_command()
@click.option(
    "--kill-after",
    type=COUNT,
    default=KILL_AFTER,
    show_default=True,
    help="Turns after which the first process gets SIGKILL.",
)
def resume(kill_after: int, options: Options) -> None:
    """A process killed with SIGKILL after turn 2; another process resumes the run from disk.

    The run takes three turns. With --kill-after 4 or more it is over before anything is killed, and
    the rows say so.
    """
    show(report(options, kill_after), options)


def report(options: Options, kill_after: int = KILL_AFTER) -> Report:
    """The run as it was at the kill, and as another process left it."""
    sharing = open_shared("resume", options, find("plan"))
    with sharing as shared, tempfile.TemporaryDirectory() as root:
        spec = _spec(options, shared, root, kill_after)
        specs = (spec, msgspec.structs.replace(spec, kill_after=None))
        first, second = map(_run, shared.line.each(specs, _row_name))
        ran = [f"{kind}:{target}" for kind, target in Workspace(Path(root) / "workspace").effects()]
    names = _names(kill_after, killed=first.extra["exit"] == -signal.SIGKILL)
    rows = [
        msgspec.structs.replace(row, policy=name)
        for row, name in zip((first, second), names, strict=True)
    ]
    note = f"tool runs across both processes: {', '.join(ran)}."
    return report_of("resume", rows, options, [note])


def _row_name(spec: Spec) -> str:
    return "the run resumed" if spec.kill_after is None else "the run that is killed"


def _names(kill_after: int, *, killed: bool) -> tuple[str, str]:
    """What became of each process; a run that was over first was neither killed nor resumed."""
    if not killed:
        return f"over before turn {kill_after + 1}", "started again"
    return f"killed after turn {kill_after}" if kill_after else "killed before turn 1", "resumed"


def _spec(options: Options, shared: Shared, root: str, kill_after: int) -> Spec:
    scenario = find("plan")
    return Spec(
        scenario=scenario.name,
        base_url=shared.endpoint.url(scenario.script),
        root=root,
        run_id=uuid.uuid4().hex,
        price_in=str(options.price_in),
        price_out=str(options.price_out),
        protocol=options.protocol,
        stream=options.stream,
        model=options.model or scenario.script,
        padding=shared.padding,
        kill_after=kill_after,
        trace=None if options.trace is None else str(options.trace.absolute()),
    )


def _run(spec: Spec) -> Row:
    """One process from start to end, and the run as the store has it afterwards."""
    started = time.perf_counter()
    status = _process(spec)
    wall_ms = (time.perf_counter() - started) * 1000
    with Store(store_path(Path(spec.root))) as store:
        state = store.load(spec.run_id)
    row = to_row("", state, Workspace(Path(spec.root) / "workspace"), wall_ms, 0.0)
    extra = {"exit": status, "messages": len(state.messages)}
    return msgspec.structs.replace(row, extra=extra, harness_ms=None)


def _process(spec: Spec) -> int:
    """Run a process on `spec`; its exit status, negative for a signal. Raises on any other end."""
    command = [sys.executable, "-P", "-m", "fakeprovider_bench.restart"]
    text = msgspec.json.encode(spec)
    try:
        done = subprocess.run(
            command, input=text, timeout=SECONDS, check=False, capture_output=True
        )
    except subprocess.TimeoutExpired as error:
        raise click.ClickException(f"the run's process took over {SECONDS} s: ended") from error
    if done.returncode > 0:
        errors = done.stderr.decode(errors="replace").strip()
        raise click.ClickException(f"the run's process failed (exit {done.returncode}):\n{errors}")
    return done.returncode
