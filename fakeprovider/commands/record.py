"""`fakeprovider record`: what another provider answers, as a script."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

import click
from click.core import ParameterSource

from fakeprovider.commands.options import Finite, check_folder
from fakeprovider.driving.command_run import base_urls
from fakeprovider.driving.supervisor import Supervisor
from fakeprovider.recording.book import Book, known_secrets, to_yaml
from fakeprovider.recording.proxy import Proxy, Record
from fakeprovider.recording.requests import without_secrets
from fakeprovider.yamlscripts import read_script

_HELP = """Run COMMAND against another provider and write down what that answers, as a script.

COMMAND finds a proxy through the usual variables (LLM_BASE_URL, OPENAI_BASE_URL,
ANTHROPIC_BASE_URL, ...), which passes everything on to --upstream, a base URL that ends in /v1.
Replies are written to the script, be they chat completions, Messages or Responses: served with
`fakeprovider serve`, each answers its own request and no other, in any dialect, and a request that
has drifted is refused with its first difference. What differs on each run is declared in the
script, under `volatile`. Keys and what looks like a secret are not written. What cannot be written
down is told: searches and other tools of the service's own, and requests with
`previous_response_id`, which do not hold their history.

\b
  fakeprovider record --upstream https://api.openai.com/v1 -o tests/weather.yaml -- npm test
  fakeprovider record --upstream https://api.anthropic.com/v1 --key-env ANTHROPIC_API_KEY \\
      -o tests/weather.yaml -- npm test
  fakeprovider exec --script tests/weather.yaml -- npm test
"""


def _key(name: str) -> str | None:
    """The key for upstream; a variable that was named must be there."""
    source = click.get_current_context().get_parameter_source("key_env")
    if source is ParameterSource.COMMANDLINE and name not in os.environ:
        raise click.UsageError(f"--key-env {name}: there is no such variable in the environment")
    return os.environ.get(name)


_output_option = click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to write the script.",
)
_key_option = click.option(
    "--key-env",
    default="OPENAI_API_KEY",
    show_default=True,
    metavar="NAME",
    help="Variable that holds the key for --upstream; COMMAND does not see it.",
)


@click.command("record", help=_HELP)
@click.option("--upstream", required=True, metavar="URL", help="Base URL of the other provider.")
@_output_option
@_key_option
@click.option("--timeout", type=Finite(min=0), help="Seconds; then COMMAND is ended.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_context
def record(
    context: click.Context,
    upstream: str,
    output: Path,
    key_env: str,
    timeout: float | None,
    command: tuple[str, ...],
) -> None:
    parts = _url(upstream)
    check_folder(output)
    key = _key(key_env)
    book = Book(known_secrets([key, parts.password, *_keys(os.environ)]))
    with Proxy(upstream, _into(book), key=key) as proxy:
        env = {name: value for name, value in os.environ.items() if name != key_env}
        ended = Supervisor(command, env={**env, **base_urls(proxy.base_url)}, timeout=timeout).run()
    for line in without_secrets(list(dict.fromkeys(book.passed_on)), book.secrets):
        click.echo(f"fakeprovider: not recorded: {line}", err=True)
    if not ended.started:
        click.echo(f"fakeprovider: COMMAND {ended.reason}", err=True)
    if not len(book):
        click.echo("fakeprovider: nothing was recorded", err=True)
        context.exit(ended.status or 1)
    right = _write(book, output, f"Recorded from {parts.hostname}.")
    context.exit(ended.status or not right)


def _write(book: Book, output: Path, description: str) -> bool:
    """Write the script; returns whether it can be read again, and says what is wrong with it."""
    text = to_yaml(book.document(description))
    output.write_text(text, encoding="utf-8", errors="backslashreplace")
    _, problems = read_script(text, output.stem, str(output))
    for problem in problems:
        click.echo(str(problem), err=True)
    click.echo(f"fakeprovider: {len(book)} exchanges written to {output}", err=True)
    return not problems


def _url(upstream: str) -> SplitResult:
    """The parts of the base URL; a usage error for what is none."""
    try:
        parts = urlsplit(upstream)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return parts
    except ValueError:  # brackets or a port that are none
        pass
    raise click.UsageError(f"--upstream {upstream!r}: must be a URL such as https://host/v1")


def _into(book: Book) -> Record:
    """What the proxy calls for each exchange."""

    def add(path: str, body: bytes, status: int, answer: bytes, streamed: bool) -> None:
        book.add(path, body, status, answer, streamed=streamed)

    return add


def _keys(environment: Mapping[str, str]) -> list[str]:
    """Values of variables that are named like keys."""
    words = ("API_KEY", "TOKEN", "SECRET", "PASSWORD")
    return [value for name, value in environment.items() if name.upper().endswith(words)]
