"""Scripts that are read again when their files change, while the server runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from fakeprovider.scripts import Script, discover
from fakeprovider.serving.provider import Provider
from fakeprovider.yamlscripts import BadScripts, load, stamps

INTERVAL = 0.3
"""Seconds between two looks at the files."""


@contextmanager
def watching(paths: Sequence[Path], provider: Provider) -> Iterator[None]:
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
