"""`python -m harness ralph`: fresh runs over a project until its plan is empty."""

from __future__ import annotations

from pathlib import Path

import click

from harness.commands.again import advice, command_line
from harness.commands.options import TURNS, Options, cap_options, shared_options
from harness.commands.session import SYSTEM, caps, check_of, session
from harness.outer import OuterStop, Ralph, ralph
from harness.outer.plan import read_text
from harness.outer.ralph import PROMPT


@click.command("ralph")
@click.option("--plan", default="plan.md", show_default=True, help="The plan, in --dir.")
@click.option(
    "--prompt-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The prompt instead of the built-in one; {item} and {plan} are filled in.",
)
@click.option("--check", metavar="COMMAND", help="Judges the project after each iteration.")
@click.option("--marker", help="A word with which the agent may end the loop.")
@click.option("--rounds", type=click.IntRange(min=1), default=3, show_default=True)
@click.option("--commit", is_flag=True, help="Have git record each iteration.")
@cap_options
@shared_options
def ralph_command(
    plan: str,
    prompt_file: Path | None,
    check: str | None,
    marker: str | None,
    rounds: int,
    commit: bool,
    max_iterations: int | None,
    max_seconds: float | None,
    unlimited: bool,
    options: Options,
) -> None:
    """The same prompt to a fresh run each time; what is known stands in files of --dir.

    It ends when the plan is empty, at a cap, after --rounds iterations without progress, on Ctrl-C
    or when there is a file `.ralph/stop`. Started again, it goes on from what is on disk.

    \b
    python -m harness ralph --dir project --check "pytest -q" --max-iterations 20 --commit
    """
    limits = caps(options, max_iterations, max_seconds, unlimited)
    prompt = PROMPT if prompt_file is None else _read(prompt_file)
    verifier = check_of(check, options)
    with session(options, stop_default=TURNS) as here:
        loop = Ralph(
            root=options.directory,
            prompt=prompt,
            system=SYSTEM,
            plan=plan,
            check=verifier,
            marker=marker,
            rounds=rounds,
            commit=commit,
        )
        report = here.drive(ralph(loop, here.setup, limits))
        here.finish(report, _go_on(report.stop))


def _go_on(stop: OuterStop) -> str:
    file = stop.evidence.get("file")
    if file is not None:
        return f"remove {file}, then: {command_line(None)}"
    return advice(None, stop.kind, stop.limit)


def _read(path: Path) -> str:
    try:
        return read_text(path)
    except (OSError, ValueError) as error:
        raise click.BadParameter(str(error), param_hint="--prompt-file") from error
