"""`fakeprovider serve`: the provider as a server, and scripts that are read again on a change."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import click

from fakeprovider import tokens
from fakeprovider.commands.options import (
    Finite,
    Scripts,
    check_writable,
    client_options,
    gathered,
    journal_option,
    scripts,
    trouble_options,
)
from fakeprovider.completion import SEARCH_LIMIT
from fakeprovider.fitting.tool_mapping import ToolMapping
from fakeprovider.scripts import Script, UnknownScript, discover
from fakeprovider.server import PortInUse, Server
from fakeprovider.serving.asgi import BODY_TIMEOUT
from fakeprovider.serving.provider import Provider
from fakeprovider.settings import MAX_BODY, CountingRule, Options, Settings
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


_port_option = click.option(
    "--port",
    default=8080,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port; 0 takes a free one.",
)


def _service(
    max_body: int,
    body_timeout: float,
    api_key: str | None,
    prompt_cache: bool,
    count: CountingRule,
    search_limit: int,
) -> Options:
    if api_key == "":
        raise click.UsageError("--api-key '': a key has at least one character")
    return {
        "max_body": max_body,
        "body_timeout": body_timeout,
        "api_key": api_key,
        "prompt_cache": prompt_cache,
        "count": count,
        "search_limit": search_limit,
    }


_service_options = gathered(
    "service",
    _service,
    click.option(
        "--max-body",
        default=MAX_BODY,
        show_default=True,
        type=click.IntRange(min=1),
        help="Bytes of a request body; over it: 413.",
    ),
    click.option(
        "--body-timeout",
        default=BODY_TIMEOUT,
        show_default=True,
        type=Finite(min=0, min_open=True),
        help="Seconds in which a request body must have come; after it: 408.",
    ),
    click.option(
        "--api-key",
        help="Key that clients must show; without it any will do. /, /healthz, /_journal and "
        "/_verdict need none: tests and browsers read them, and have no client's key.",
    ),
    click.option(
        "--prompt-cache",
        is_flag=True,
        help="Report cached tokens as a service's prompt cache would.",
    ),
    click.option(
        "--count",
        type=click.Choice(["wire", "openai"]),
        default="wire",
        show_default=True,
        help="Rule for prompt tokens: the request as sent, or OpenAI's published estimate.",
    ),
    click.option(
        "--search-limit",
        type=click.IntRange(min=1),
        default=SEARCH_LIMIT,
        show_default=True,
        help="Searches of the service's own after which the Messages API pauses a turn.",
    ),
)


@click.command("serve", help=_HELP)
@click.argument("paths", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@_port_option
@click.option("--script", help="What answers by default: the only script of PATHS, else plan.")
@click.option("--watch", is_flag=True, help="Read the files again when they change.")
@client_options
@click.option("--lenient", is_flag=True, help="Serve broken transcripts; journal what is wrong.")
@journal_option
@_service_options
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
    service: Options,
    as_json: bool,
    settings: Settings,
) -> None:
    served = _scripts(script, paths, watch)
    check_writable(journal)
    settings = replace(settings, scripts=served.read, catalogue=catalogue, strict=not lenient)
    settings = replace(settings, **service)
    try:
        server = Server(served.default, host=host, port=port, journal=journal, settings=settings)
        with _watching(served.files if watch else (), server.provider):
            server.serve(ready=lambda: _announce(server, as_json))
    except (UnknownScript, PortInUse, OSError) as error:
        raise click.ClickException(str(error)) from error


def _scripts(script: str | None, paths: Sequence[Path], watch: bool) -> Scripts:
    """What is served; a usage error where the options do not go together."""
    if ";" in (script or ""):
        raise click.UsageError(
            f"--script {script!r}: a name alone; what follows ';' stands in a client's base URL, "
            "or is an option here, such as --fault"
        )
    served = scripts(script, paths)
    if watch and not served.files:
        raise click.UsageError("--watch: name the files or folders of scripts that are to be read")
    return served


def _announce(server: Server, as_json: bool) -> None:
    """One line that says where the server is; then the tokenizer loads while nobody waits."""
    urls = {"url": server.url, "base_url": server.base_url}
    click.echo(json.dumps(urls) if as_json else f"fakeprovider is at {server.base_url}")
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
