"""`fakeprovider exec`: a command under test, with a provider of its own."""

from __future__ import annotations

import json
from pathlib import Path

import click

from fakeprovider.commands.fault_options import Trouble, trouble_options
from fakeprovider.commands.options import (
    Finite,
    check_writable,
    client_options,
    gate_options,
    scripts,
)
from fakeprovider.commands.summary import summary, told
from fakeprovider.driving.command_run import Drive, drive
from fakeprovider.driving.gates import Gates
from fakeprovider.fitting.tool_mapping import ToolMapping
from fakeprovider.scripts import UnknownScript
from fakeprovider.serving import path_options
from fakeprovider.verdict import LEDGER_ONLY

_HELP = """Run COMMAND against a provider of its own, and say what it did.

The provider takes a free port and follows --script. COMMAND finds it through LLM_BASE_URL,
OPENAI_BASE_URL, OPENAI_API_BASE, OPENAI_API_KEY, ANTHROPIC_BASE_URL and ANTHROPIC_API_KEY. When
it has ended, or was ended, nothing that it started is left running, and a summary is printed:
what came in, what it cost in tokens, and a verdict on how COMMAND took it.

A gate of --fail-on fails where its clause does, and where the clause is named and the run does not
show enough to decide it; where there was no occasion for it, the summary says so. `any` fails only
where a clause does.

Exit status: COMMAND's own; 3 if a gate failed, the script had no reply to a request (an
expectation, a recording, its end), or COMMAND made no request at all; 124 if the time was up;
126 or 127 if COMMAND could not be started.

\b
  fakeprovider exec --script runaway --max-requests 30 -- npm test
  fakeprovider exec --script my-scripts/retry.yaml --expect-turns 4 -- go test ./...
  fakeprovider exec --script plan --fault rate_limited,turn=1,times=2 --fail-on any -- ./agent
"""


@click.command("exec", help=_HELP)
@click.option("--script", required=True, help="What the model does: a name, or a YAML file.")
@click.option(
    "--scripts",
    "paths",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="More YAML scripts: a file or a folder.",
)
@client_options
@click.option("--lenient", is_flag=True, help="Serve broken transcripts; count what is wrong.")
@gate_options
@trouble_options
@click.option(
    "--cap",
    type=click.IntRange(min=1),
    help="The limit on model calls that COMMAND was told to keep, for the verdict's cap.",
)
@click.option("--timeout", type=Finite(min=0), help="Seconds; then the run is ended.")
@click.option(
    "--grace",
    type=Finite(min=0),
    default=5.0,
    show_default=True,
    help="Seconds between SIGTERM and SIGKILL, and after the first Ctrl-C.",
)
@click.option(
    "--effects",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Ledger (JSONL) in which COMMAND's tools write what they did, for the verdict.",
)
@click.option(
    "--journal",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to append every exchange to, a line of JSON each.",
)
@click.option(
    "--run",
    "run_key",
    default="",
    help="Run key in the journal; without it a random one, with chaos a fixed one.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print the summary as JSON, the last line of stdout."
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_context
def exec_command(
    context: click.Context,
    script: str,
    paths: tuple[Path, ...],
    catalogue: ToolMapping,
    lenient: bool,
    gates: Gates,
    trouble: Trouble,
    cap: int | None,
    timeout: float | None,
    grace: float,
    effects: Path | None,
    journal: Path | None,
    run_key: str,
    as_json: bool,
    command: tuple[str, ...],
) -> None:
    _check_options(script)
    _check_gates(gates, cap, effects)
    found = scripts(script, paths)
    check_writable(journal)
    how = Drive(
        found.default,
        scripts=found.read,
        catalogue=catalogue,
        gates=gates,
        faults=trouble.faults,
        chaos=trouble.chaos,
        pace=trouble.pace,
        strict=not lenient,
        timeout=timeout,
        grace=grace,
        cap=cap,
        effects=effects,
        journal=journal,
        run=run_key,
    )
    try:
        driven = drive(command, how)
    except (UnknownScript, OSError) as error:
        raise click.ClickException(str(error)) from error
    if as_json:
        # On a line of its own, even where COMMAND did not end its last one.
        click.echo("\n" + json.dumps(summary(driven, found.default)))
    else:
        for line in told(driven, found.default):
            click.echo(line, err=True)
    context.exit(driven.status)


def _check_gates(gates: Gates, cap: int | None, effects: Path | None) -> None:
    """What a run can never show is said before it is run."""
    if "cap" in gates.fail_on and cap is None:
        raise click.UsageError(
            "--fail-on cap needs --cap N, the limit on model calls that COMMAND was told to keep "
            "(--max-requests is no such limit: COMMAND does not know of it)"
        )
    for clause in LEDGER_ONLY:
        if clause in gates.fail_on and effects is None:
            raise click.UsageError(
                f"--fail-on {clause} needs --effects FILE, the ledger in which COMMAND's tools "
                "write what they did and who decided"
            )


def _check_options(script: str) -> None:
    """Options of the path are said to be wrong before anything runs."""
    options = script.partition(";")[2]
    try:
        if options:
            path_options.parse(options)
    except path_options.BadParameter as error:
        raise click.UsageError(f"--script {script!r}: {error}") from error
