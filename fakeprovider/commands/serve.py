"""`fakeprovider serve`: the provider as a server, and scripts that are read again on a change."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from fakeprovider import tokens
from fakeprovider.commands.fault_options import Trouble, trouble_options
from fakeprovider.commands.options import Finite, check_writable, client_options, scripts
from fakeprovider.completion import SEARCH_LIMIT
from fakeprovider.fitting.tool_mapping import ToolMapping
from fakeprovider.scripts import Script, UnknownScript, discover
from fakeprovider.server import PortInUse, Server
from fakeprovider.serving.asgi import BODY_TIMEOUT
from fakeprovider.serving.provider import Provider
from fakeprovider.settings import MAX_BODY, CountingRule
from fakeprovider.yamlscripts import BadScripts, load, stamps

_HELP = """Answer as an LLM provider that follows a script.

A client needs only the base URL that is printed. The script is named by the path
(http://HOST:PORT/runaway/v1), else by the model's name, else by --script.

\b
  fakeprovider serve                          the default script is plan
  fakeprovider serve --script runaway         any model name runs away
  fakeprovider serve my-scripts/ --watch      scripts in YAML, read again when they change
  fakeprovider serve --port 0 --json          a free port, told in JSON
  fakeprovider serve --journal journal.jsonl  every exchange as a line of JSON
"""


@click.command("serve", help=_HELP)
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
    catalogue: ToolMapping,
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
        with _watching(found.files if watch else (), server.provider):
            server.serve(ready=lambda: _announce(server, as_json))
    except (UnknownScript, PortInUse, OSError) as error:
        raise click.ClickException(str(error)) from error


def _announce(server: Server, as_json: bool) -> None:
    """One line that says where the server is; then the tokenizer loads while nobody waits."""
    told = {"url": server.url, "base_url": server.base_url}
    click.echo(json.dumps(told) if as_json else f"fakeprovider is at {server.base_url}")
    threading.Thread(target=tokens.encoding, name="warm-up", daemon=True).start()


INTERVAL = 0.3
"""Seconds between two looks at the files."""


@contextmanager
def _watching(paths: Sequence[Path], provider: Provider) -> Iterator[None]:
    """Keep the provider's scripts those of the files, as long as they are right."""
    if not paths:
        yield
        return

    def use(scripts: Mapping[str, Script]) -> None:
        provider.scripts = discover(scripts)

    stopped = threading.Event()
    watcher = Watcher(paths, use, lambda text: click.echo(text, err=True))

    def watch() -> None:
        while not stopped.wait(INTERVAL):
            watcher.look()

    thread = threading.Thread(target=watch, name="watching", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


class Watcher:
    """Reads scripts again when a file was changed, added or taken away.

    `use` is given the scripts if all are right; else `tell` is given the problems and the old
    scripts stay.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        use: Callable[[Mapping[str, Script]], None],
        tell: Callable[[str], None],
    ) -> None:
        self._paths = paths
        self._use = use
        self._tell = tell
        self._seen = self._stamps()

    def look(self) -> None:
        """Read everything again if anything has changed since the last look."""
        now = self._stamps()
        if now == self._seen:
            return
        self._seen = now
        scripts: dict[str, Script] = {}
        try:
            for path in self._paths:
                scripts.update(load(path))
        except (BadScripts, OSError) as error:
            self._tell(f"{error}\nthe scripts stay as they were")
            return
        self._use(scripts)
        self._tell(f"read again: {', '.join(scripts)}")

    def _stamps(self) -> list[Mapping[Path, tuple[int, int]]]:
        return [stamps(path) for path in self._paths]
