"""`bench resume`: a real process is killed, another one goes on, nothing is done twice."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click
import msgspec

from benchmarks.amounts import COUNT
from benchmarks.endpoint import open_endpoint
from benchmarks.options import Options, run_options
from benchmarks.report import Report, Row
from benchmarks.restart import Spec, store_path
from benchmarks.runner import to_row
from benchmarks.session import report_of, show
from harness import Store
from scenarios import Workspace, find

RUN_ID = "resume"
KILL_AFTER = 2  # turns
SECONDS = 60


@click.command()
@click.option(
    "--kill-after",
    type=COUNT,
    default=KILL_AFTER,
    show_default=True,
    help="Turns after which the first process gets SIGKILL.",
)
@run_options
def resume(kill_after: int, options: Options) -> None:
    """A process killed with SIGKILL after turn 2; another process resumes the run from disk."""
    show(report(options, kill_after), options)


def report(options: Options, kill_after: int = KILL_AFTER) -> Report:
    """The run as it was at the kill, and as another process left it."""
    with open_endpoint(options) as endpoint, tempfile.TemporaryDirectory() as root:
        spec = Spec(
            scenario="plan",
            base_url=endpoint.url(find("plan").script),
            root=root,
            run_id=RUN_ID,
            price_in=str(options.price_in),
            price_out=str(options.price_out),
            protocol=options.protocol,
            stream=options.stream,
            kill_after=kill_after,
            trace=None if options.trace is None else str(options.trace.absolute()),
        )
        killed = _leg(f"killed after turn {kill_after}", spec)
        resumed = _leg("resumed", msgspec.structs.replace(spec, kill_after=None))
        ran = [f"{kind}:{target}" for kind, target in Workspace(Path(root) / "workspace").effects()]
    note = f"tool runs across both processes: {', '.join(ran)}."
    return report_of("resume", [killed, resumed], options, [note])


def _leg(name: str, spec: Spec) -> Row:
    """One process from start to end, and the run as the store has it afterwards."""
    command = [sys.executable, "-P", "-m", "benchmarks.restart", msgspec.json.encode(spec).decode()]
    started = time.perf_counter()
    done = subprocess.run(command, timeout=SECONDS, check=False, capture_output=True, text=True)
    wall_ms = (time.perf_counter() - started) * 1000
    if done.returncode > 0:
        raise click.ClickException(f"{name}: the run's process failed:\n{done.stderr.strip()}")
    state = Store(store_path(Path(spec.root))).load(spec.run_id)
    row = to_row(name, state, Workspace(Path(spec.root) / "workspace"), wall_ms, 0.0)
    extra = {"exit": done.returncode, "messages": len(state.messages)}
    return msgspec.structs.replace(row, extra=extra, harness_ms=None)
