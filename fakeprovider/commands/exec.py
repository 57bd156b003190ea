"""`fakeprovider exec`: a command under test, with a provider of its own, and what to say of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from fakeprovider.commands.options import (
    Finite,
    check_writable,
    client_options,
    gate_options,
    gathered,
    journal_option,
    scripts,
    trouble_options,
)
from fakeprovider.driving.command_run import Drive, Driven, drive
from fakeprovider.driving.gates import Gates
from fakeprovider.driving.supervisor import Ended
from fakeprovider.fitting.tool_mapping import ToolMapping
from fakeprovider.scripts import UnknownScript
from fakeprovider.serving import path_options
from fakeprovider.settings import Settings
from fakeprovider.verdict import LEDGER_ONLY, ClauseResult, render, to_json

_SHOWN = 10
_OBSERVED = ("pass", "fail")

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


_scripts_option = click.option(
    "--scripts",
    "paths",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="More YAML scripts: a file or a folder.",
)


def _run(
    cap: int | None,
    timeout: float | None,
    grace: float,
    effects: Path | None,
    journal: Path | None,
    run_key: str,
) -> Drive:
    """How to run COMMAND, still without its script."""
    return Drive(
        "", timeout=timeout, grace=grace, cap=cap, effects=effects, journal=journal, run=run_key
    )


_run_options = gathered(
    "how",
    _run,
    click.option(
        "--cap",
        type=click.IntRange(min=1),
        help="The limit on model calls that COMMAND was told to keep, for the verdict's cap.",
    ),
    click.option("--timeout", type=Finite(min=0), help="Seconds; then the run is ended."),
    click.option(
        "--grace",
        type=Finite(min=0),
        default=5.0,
        show_default=True,
        help="Seconds between SIGTERM and SIGKILL, and after the first Ctrl-C.",
    ),
    click.option(
        "--effects",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Ledger (JSONL) in which COMMAND's tools write what they did, for the verdict.",
    ),
    journal_option,
    click.option(
        "--run",
        "run_key",
        default="",
        help="Run key in the journal; without it a random one, with chaos a fixed one.",
    ),
)
_json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print the summary as JSON, the last line of stdout."
)


@click.command("exec", help=_HELP)
@click.option("--script", required=True, help="What the model does: a name, or a YAML file.")
@_scripts_option
@client_options
@click.option("--lenient", is_flag=True, help="Serve broken transcripts; count what is wrong.")
@gate_options
@trouble_options
@_run_options
@_json_option
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def exec_command(
    script: str,
    paths: tuple[Path, ...],
    catalogue: ToolMapping,
    lenient: bool,
    gates: Gates,
    settings: Settings,
    how: Drive,
    as_json: bool,
    command: tuple[str, ...],
) -> None:
    _check_options(script)
    _check_gates(gates, how.cap, how.effects)
    served = scripts(script, paths)
    check_writable(how.journal)
    settings = replace(settings, scripts=served.read, catalogue=catalogue, strict=not lenient)
    how = replace(how, script=served.default, settings=settings, gates=gates)
    try:
        driven = drive(command, how)
    except (UnknownScript, OSError) as error:
        raise click.ClickException(str(error)) from error
    if as_json:
        # On a line of its own, even where COMMAND did not end its last one.
        click.echo("\n" + json.dumps(summary(driven, how.script)))
    else:
        for line in in_words(driven, how.script):
            click.echo(line, err=True)
    click.get_current_context().exit(driven.status)


def _check_gates(gates: Gates, cap: int | None, effects: Path | None) -> None:
    """Raise a usage error for a gate that this run can never decide."""
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
    """Raise a usage error for options of the path that are wrong, before anything runs."""
    options = script.partition(";")[2]
    try:
        if options:
            path_options.parse(options)
    except path_options.BadParameter as error:
        raise click.UsageError(f"--script {script!r}: {error}") from error


def summary(driven: Driven, script: str) -> dict[str, Any]:
    """The summary as data."""
    totals, ended = driven.totals, driven.ended
    return {
        "run": driven.run,
        "script": script,
        "status": driven.status,
        "command_status": ended.status,
        "ended_by": ended.reason,
        "unstruck_faults": list(driven.unstruck),
        "failed_gates": list(driven.failures),
        "undecided_gates": list(map(_undecided, driven.undecided)),
        "seconds": round(ended.seconds, 3),
        "requests": totals.requests,
        "turns": totals.turns,
        "side_requests": totals.side_requests,
        "retries": totals.retries,
        "errors": totals.errors,
        "cancelled": totals.cancelled,
        "input_tokens": totals.input_tokens,
        "output_tokens": totals.output_tokens,
        "script_errors": totals.script_errors,
        "violations": totals.violations,
        "replaced": totals.replaced,
        "verdict": json.loads(to_json(list(driven.verdict))),
    }


def in_words(driven: Driven, script: str) -> Iterator[str]:
    """The summary in words."""
    totals, ended = driven.totals, driven.ended
    yield f"fakeprovider: script {script}, run {driven.run}, {ended.seconds:.1f} s"
    yield (
        f"  requests {totals.requests} (turns {totals.turns}, retries {totals.retries}, "
        f"errors {totals.errors}, side requests {totals.side_requests}, "
        f"broken off {totals.cancelled})"
    )
    yield f"  tokens {totals.tokens} ({totals.input_tokens} in, {totals.output_tokens} out)"
    if totals.script_errors:
        yield f"  script errors {len(totals.script_errors)}"
        yield from _first_of(totals.script_errors)
    yield f"  violations {len(totals.violations)}"
    yield from _first_of(totals.violations)
    if totals.replaced:
        yield f"  calls that were fitted to the tools offered: {len(totals.replaced)}"
        yield from _first_of(totals.replaced)
    yield from _verdict(driven)
    yield f"  command {_how(ended)}, status {ended.status}"
    for fault in driven.unstruck:
        yield f"  NO EFFECT: {fault}"
    for result in driven.undecided:
        yield f"  NOT DECIDED: {_undecided(result)}"
    for failure in driven.failures:
        yield f"  GATE FAILED: {failure}"


def _undecided(result: ClauseResult) -> str:
    return f"{result.clause}: {result.result}, {result.detail} (--fail-on)"


def _how(ended: Ended) -> str:
    if not ended.started:
        return str(ended.reason)
    return f"was ended ({ended.reason})" if ended.reason else "ended by itself"


def _verdict(driven: Driven) -> Iterator[str]:
    observed = [result for result in driven.verdict if result.result in _OBSERVED]
    other = len(driven.verdict) - len(observed)
    yield f"  verdict ({other} more clauses did not apply or could not be observed)"
    if observed:
        yield from (f"    {line}" for line in render(observed).splitlines())


def _first_of(lines: list[str]) -> Iterator[str]:
    yield from (f"    {line}" for line in lines[:_SHOWN])
    if len(lines) > _SHOWN:
        yield f"    and {len(lines) - _SHOWN} more; see --journal"
