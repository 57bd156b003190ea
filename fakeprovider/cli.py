"""The command line: `fakeprovider serve`, `fakeprovider list`."""

from __future__ import annotations

import json
import signal
import threading
from pathlib import Path
from typing import Any

import click

from fakeprovider import commands, tokens
from fakeprovider.commands.fault_options import Trouble, trouble_options
from fakeprovider.commands.options import Finite, check_writable, client_options, scripts
from fakeprovider.commands.watching import watching
from fakeprovider.completion import SEARCH_LIMIT
from fakeprovider.fitting.tool_mapping import Catalogue
from fakeprovider.scripts import UnknownScript, describe, discover
from fakeprovider.server import PortInUse, Server
from fakeprovider.serving.app import MAX_BODY
from fakeprovider.serving.asgi import BODY_TIMEOUT
from fakeprovider.serving.provider import CountingRule

_SERVE = """Answer as an LLM provider that follows a script.

A client needs only the base URL that is printed. The script is named by the path
(http://HOST:PORT/runaway/v1), else by the model's name, else by --script.

\b
  fakeprovider serve                          the default script is plan
  fakeprovider serve --script runaway         any model name runs away
  fakeprovider serve my-scripts/ --watch      scripts in YAML, read again when they change
  fakeprovider serve --port 0 --json          a free port, told in JSON
  fakeprovider serve --journal journal.jsonl  every exchange as a line of JSON
"""


class _Commands(click.Group):
    """What cannot be written or read is a message, and Ctrl-C no more than an exit status."""

    def invoke(self, context: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(context)
        except KeyboardInterrupt:
            context.exit(128 + signal.SIGINT)
        except BrokenPipeError:  # whoever read the output has had enough: click ends quietly
            raise
        except OSError as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="fakeprovider")
def main() -> None:
    """A scripted fake LLM provider: real wire protocols, misbehaviour on demand.

    \b
      fakeprovider list     which scripts there are
      fakeprovider serve    run the server
      fakeprovider exec     run a command against a provider of its own, and judge it
      fakeprovider faults   what a provider can be told to get wrong
      fakeprovider check    are these YAML scripts right?
      fakeprovider schema   their JSON Schema, for editors
      fakeprovider record   write down what another provider answers, as a script
    """


main.add_command(commands.check)
main.add_command(commands.exec_command)
main.add_command(commands.faults)
main.add_command(commands.record)
main.add_command(commands.schema)


@main.command(help=_SERVE)
@click.argument("paths", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    default=8080,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port; 0 takes a free one.",
)
@click.option("--script", help="What answers by default: the only script of PATHS, else plan.")
@click.option("--watch", is_flag=True, help="Read the files again when they change.")
@client_options
@click.option("--lenient", is_flag=True, help="Serve broken transcripts; journal what is wrong.")
@click.option(
    "--journal",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to append every exchange to, a line of JSON each.",
)
@click.option(
    "--max-body",
    default=MAX_BODY,
    show_default=True,
    type=click.IntRange(min=1),
    help="Bytes of a request body; over it: 413.",
)
@click.option(
    "--body-timeout",
    default=BODY_TIMEOUT,
    show_default=True,
    type=Finite(min=0, min_open=True),
    help="Seconds in which a request body must have come; after it: 408.",
)
@click.option(
    "--api-key",
    help="Key that clients must show; without it any will do. /, /healthz, /_journal and /_verdict "
    "want none: they are for the test and the browser, which have no client's key.",
)
@click.option(
    "--prompt-cache", is_flag=True, help="Report cached tokens as a service's prompt cache would."
)
@click.option(
    "--count",
    type=click.Choice(["wire", "openai"]),
    default="wire",
    show_default=True,
    help="Rule for prompt tokens: the request as sent, or OpenAI's published estimate.",
)
@click.option(
    "--search-limit",
    type=click.IntRange(min=1),
    default=SEARCH_LIMIT,
    show_default=True,
    help="Searches of the service's own after which the Messages API pauses a turn.",
)
@click.option("--json", "as_json", is_flag=True, help="Say where the server is in JSON.")
@trouble_options
def serve(
    paths: tuple[Path, ...],
    host: str,
    port: int,
    script: str | None,
    watch: bool,
    catalogue: Catalogue,
    lenient: bool,
    journal: Path | None,
    max_body: int,
    body_timeout: float,
    api_key: str | None,
    prompt_cache: bool,
    count: CountingRule,
    search_limit: int,
    as_json: bool,
    trouble: Trouble,
) -> None:
    if ";" in (script or ""):
        raise click.UsageError(
            f"--script {script!r}: a name alone; what follows ';' stands in a client's base URL, "
            "or is an option here, such as --fault"
        )
    if api_key == "":
        raise click.UsageError("--api-key '': a key has at least one character")
    found = scripts(script, paths)
    if watch and not found.files:
        raise click.UsageError("--watch: name the files or folders of scripts that are to be read")
    check_writable(journal)
    try:
        server = Server(
            found.default,
            scripts=found.read,
            catalogue=catalogue,
            host=host,
            port=port,
            strict=not lenient,
            journal=journal,
            max_body=max_body,
            body_timeout=body_timeout,
            api_key=api_key,
            prompt_cache=prompt_cache,
            count=count,
            search_limit=search_limit,
            pace=trouble.pace,
            faults=trouble.faults,
            chaos=trouble.chaos,
        )
        with watching(found.files if watch else (), server.provider):
            server.serve(ready=lambda: _announce(server, as_json))
    except (UnknownScript, PortInUse, OSError) as error:
        raise click.ClickException(str(error)) from error


def _announce(server: Server, as_json: bool) -> None:
    """One line that says where the server is; then the tokenizer loads while nobody waits."""
    told = {"url": server.url, "base_url": server.base_url}
    click.echo(json.dumps(told) if as_json else f"fakeprovider is at {server.base_url}")
    threading.Thread(target=tokens.encoding, name="warm-up", daemon=True).start()


@main.command("list")
@click.option("--json", "as_json", is_flag=True, help="As JSON: name and description.")
def list_scripts(as_json: bool) -> None:
    """List the scripts, each with the first line of its description."""
    scripts = {name: describe(script) for name, script in discover().items()}
    if as_json:
        rows = [{"name": name, "description": text} for name, text in scripts.items()]
        click.echo(json.dumps({"scripts": rows}))
        return
    width = max(map(len, scripts))
    for name, text in scripts.items():
        click.echo(f"{name:{width}}  {text}")
