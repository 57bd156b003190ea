"""The book of an outer loop, on disk: what is needed to go on where another process ended."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import msgspec
from filelock import FileLock, Timeout

from harness.outer.plan import write
from harness.outer.report import Iteration, Spent
from harness.storage import RunBusy


class Book(msgspec.Struct, omit_defaults=True):
    """Iterations so far, the one that was begun and not ended, and how long nothing has moved.

    `done` are the items that were ticked when it was begun. `best` are the lowest counts seen
    (items left, tests failing), `fruitless` the iterations since one of them fell, `failures` the
    iterations in a row whose runs failed. `stopped` says that the loop ended by itself: whoever
    starts it again gives it another chance.
    """

    id: str
    iterations: list[Iteration] = []
    begun: Iteration | None = None
    done: list[str] = []
    best: dict[str, float] = {}
    fruitless: int = 0
    failures: int = 0
    stopped: bool = False

    @property
    def all(self) -> list[Iteration]:
        """The iterations so far, with the one that has not ended."""
        return self.iterations if self.begun is None else [*self.iterations, self.begun]

    @property
    def number(self) -> int:
        """The number of the next iteration, from 1."""
        return len(self.iterations) + 1

    def spent(self) -> Spent:
        """What all iterations have used."""
        return Spent(
            len(self.iterations),
            sum((each.cost_usd for each in self.all), Decimal(0)),
            sum(each.input_tokens + each.output_tokens for each in self.all),
            sum(each.seconds for each in self.all),
        )

    def progress(self, **counts: float | None) -> bool:
        """Take note of counts that should fall; whether one is lower than ever."""
        known = {name: count for name, count in counts.items() if count is not None}
        better = any(count < self.best.get(name, float("inf")) for name, count in known.items())
        for name, count in known.items():
            self.best[name] = min(count, self.best.get(name, count))
        return better


class Shelf:
    """Where a book is kept: a directory that one process at a time may use."""

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory)
        self._path = self.directory / "book.json"

    @contextmanager
    def claim(self) -> Iterator[Book]:
        """The book, for as long as the context lasts; raises `RunBusy` if another has it."""
        self.directory.mkdir(parents=True, exist_ok=True)
        (self.directory / ".gitignore").write_text("*\n", encoding="utf-8")
        lock = FileLock(self.directory / "lock", timeout=0)
        try:
            lock.acquire()
        except Timeout:
            raise RunBusy(f"another loop is at work in {self.directory}") from None
        try:
            yield self._load()
        finally:
            lock.release()

    def save(self, book: Book) -> None:
        """Keep the book as it is now."""
        write(self._path, msgspec.json.encode(book))

    @property
    def stop_asked(self) -> bool:
        """Whether somebody has left a file called `stop` there."""
        return (self.directory / "stop").exists()

    def _load(self) -> Book:
        if self._path.exists():
            return msgspec.json.decode(self._path.read_bytes(), type=Book)
        return Book(uuid.uuid4().hex)
