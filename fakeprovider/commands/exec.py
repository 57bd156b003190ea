"""`fakeprovider exec`: a command under test, with a provider of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from fakeprovider.commands.options import catalogue, client_options, scripts
from fakeprovider.driven import Drive, Driven, drive
from fakeprovider.gates import Gates
from fakeprovider.scripts import UnknownScript

_SHOWN = 10

_HELP = """Run COMMAND against a provider of its own, and say what it did.

The provider takes a free port and follows --script. COMMAND finds it through LLM_BASE_URL,
OPENAI_BASE_URL, OPENAI_API_BASE, OPENAI_API_KEY, ANTHROPIC_BASE_URL and ANTHROPIC_API_KEY. When
it has ended, or was ended, nothing that it started is left running, and a summary is printed.

Exit status: COMMAND's own; 3 if a gate failed; 124 if the time was up; 126 or 127 if COMMAND
could not be started.

\b
  fakeprovider exec --script runaway --max-requests 30 -- npm test
  fakeprovider exec --script my-scripts/retry.yaml --expect-turns 4 -- go test ./...
  fakeprovider exec --script plan --client codex --no-violations -- codex exec "Look around"
"""


def _turns(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[int, int] | None:
    """The least and the most turns, from `3` or `2-5`."""
    if value is None:
        return None
    found = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", value)
    least, most = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
    if least > most:
        raise click.BadParameter(f"{value!r}: must be a number such as 3, or a range such as 2-5")
    return least, most


@click.command("exec", help=_HELP, context_settings={"ignore_unknown_options": False})
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
@click.option(
    "--max-requests", type=click.IntRange(min=0), help="End the run at the next request after N."
)
@click.option(
    "--max-tokens",
    type=click.IntRange(min=0),
    help="End the run at the next request over N tokens.",
)
@click.option("--no-violations", is_flag=True, help="Fail if a transcript breaks the real rules.")
@click.option(
    "--expect-turns",
    metavar="N|N-M",
    callback=_turns,
    help="Fail unless the script took so many turns.",
)
@click.option("--timeout", type=click.FloatRange(min=0), help="Seconds; then the run is ended.")
@click.option(
    "--grace",
    type=click.FloatRange(min=0),
    default=5.0,
    show_default=True,
    help="Seconds between SIGTERM and SIGKILL.",
)
@click.option(
    "--journal",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to append every exchange to, a line of JSON each.",
)
@click.option("--run", "run_key", default="", help="Run key in the journal; a random one without.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON, on stdout.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_context
def exec_command(
    context: click.Context,
    script: str,
    paths: tuple[Path, ...],
    client: str | None,
    mappings: tuple[str, ...],
    lenient: bool,
    max_requests: int | None,
    max_tokens: int | None,
    no_violations: bool,
    expect_turns: tuple[int, int] | None,
    timeout: float | None,
    grace: float,
    journal: Path | None,
    run_key: str,
    as_json: bool,
    command: tuple[str, ...],
) -> None:
    found = scripts(script, paths)
    how = Drive(
        found.default,
        scripts=found.read,
        catalogue=catalogue(client, mappings),
        gates=Gates(max_requests, max_tokens, no_violations, expect_turns),
        strict=not lenient,
        timeout=timeout,
        grace=grace,
        journal=journal,
        run=run_key,
    )
    try:
        driven = drive(command, how)
    except (UnknownScript, OSError) as error:
        raise click.ClickException(str(error)) from error
    if as_json:
        click.echo(json.dumps(summary(driven, found.default)))
    else:
        for line in told(driven, found.default):
            click.echo(line, err=True)
    context.exit(driven.status)


def summary(driven: Driven, script: str) -> dict[str, Any]:
    """The summary as data."""
    tally, ended = driven.tally, driven.ended
    return {
        "run": driven.run,
        "script": script,
        "status": driven.status,
        "command_status": ended.status,
        "ended_by": ended.reason,
        "failed_gates": list(driven.failures),
        "seconds": round(ended.seconds, 3),
        "requests": tally.requests,
        "turns": tally.turns,
        "side_requests": tally.side_requests,
        "retries": tally.retries,
        "errors": tally.errors,
        "cancelled": tally.cancelled,
        "input_tokens": tally.input_tokens,
        "output_tokens": tally.output_tokens,
        "violations": tally.violations,
        "replaced": tally.replaced,
    }


def told(driven: Driven, script: str) -> Iterator[str]:
    """The summary in words."""
    tally, ended = driven.tally, driven.ended
    yield f"fakeprovider: script {script}, run {driven.run}, {ended.seconds:.1f} s"
    yield (
        f"  requests {tally.requests} (turns {tally.turns}, retries {tally.retries}, "
        f"errors {tally.errors}, side requests {tally.side_requests}, broken off {tally.cancelled})"
    )
    yield f"  tokens   {tally.tokens} ({tally.input_tokens} in, {tally.output_tokens} out)"
    yield f"  violations {len(tally.violations)}"
    yield from _first(tally.violations)
    if tally.replaced:
        yield f"  calls that were fitted to the tools offered: {len(tally.replaced)}"
        yield from _first(tally.replaced)
    how = f"was ended ({ended.reason})" if ended.reason else "ended by itself"
    yield f"  command {how}, status {ended.status}"
    for failure in driven.failures:
        yield f"  GATE FAILED: {failure}"


def _first(lines: list[str]) -> Iterator[str]:
    yield from (f"    {line}" for line in lines[:_SHOWN])
    if len(lines) > _SHOWN:
        yield f"    and {len(lines) - _SHOWN} more; see --journal"
