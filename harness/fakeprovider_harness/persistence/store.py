"""Runs in an SQLite file: what is new is appended, so the work per turn does not grow.

A run belongs to one process at a time by an OS lock on a file beside the database, which the death
of the process releases; the revision is the second net. WAL with `synchronous=NORMAL` survives
SIGKILL; a durable save uses `FULL` and survives the loss of power too.

The file is removed with the claim. Between opening a file and locking it another process may remove
it, and a third one make it anew: two owners of one name. So files are opened, locked, let go and
removed under one more lock, which is held for no longer than that.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fakeprovider_harness.models.base import Message
from fakeprovider_harness.state import (
    CallRecord,
    Check,
    LostRequest,
    Nudge,
    Reading,
    RunBusy,
    RunState,
    SideRequest,
    StaleRun,
    TurnRecord,
)

if TYPE_CHECKING:
    from filelock import FileLock

_LISTS: dict[str, type] = {
    "messages": Message,
    "turns": TurnRecord,
    "lost": LostRequest,
    "checks": Check,
    "beside": SideRequest,
    "results": CallRecord,
    "readings": Reading,
    "nudges": Nudge,
}
"""The lists of a state that only ever grow; everything else is the head, which stays small."""

_COUNTS = ", ".join(_LISTS)
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS runs (
    run_id TEXT PRIMARY KEY,
    revision INTEGER NOT NULL,
    status TEXT NOT NULL,
    head BLOB NOT NULL,
    {", ".join(f"{kind} INTEGER NOT NULL" for kind in _LISTS)}
);
CREATE TABLE IF NOT EXISTS rows (
    run_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    position INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (run_id, kind, position)
) WITHOUT ROWID;
"""


class NoSuchRun(KeyError):
    """The store has no run of that id."""

    def __str__(self) -> str:
        return str(self.args[0])


class Store:
    """Runs in the SQLite file `path`, which is made if need be.

    `busy` is how many seconds to wait for another process that is writing.
    """

    def __init__(self, path: str | Path, *, busy: float = 10.0) -> None:
        self.path = Path(path)
        self._claims = Claims(self.path.with_name(self.path.name + ".locks"))
        self._connection = sqlite3.connect(
            self.path, timeout=busy, isolation_level=None, check_same_thread=False
        )
        self._lock = threading.Lock()
        try:
            self._prepare()
        except BaseException:  # a file that is no database, a folder that is not ours
            self._connection.close()
            raise

    def _prepare(self) -> None:
        with self._claims.exclusively("schema"):  # a change to WAL heeds no busy timeout
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.executescript(_SCHEMA)
        self._connection.execute("PRAGMA synchronous=NORMAL")

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def claim(self, run_id: str) -> Iterator[None]:
        """Own the run until the context ends; raises `RunBusy` if another owner lives."""
        with self._claims.claim(run_id):
            yield

    def save(self, state: RunState, *, durable: bool = False) -> None:
        """Append what is new, replace the head; on success the state has the next revision.

        Raises `StaleRun` where the store has another revision than the state was loaded at.
        """
        lists = {kind: list(getattr(state, kind)) for kind in _LISTS}  # tools' threads add to them
        with self._transaction(durable):
            counts = self._counts(state)
            for (kind, items), count in zip(lists.items(), counts, strict=True):
                self._append(state.run_id, kind, count, items)
            self._put_head(state, [len(items) for items in lists.values()])
        state.revision += 1

    def load(self, run_id: str) -> RunState:
        """The run as it was last saved; raises `NoSuchRun`."""
        state = self.find(run_id)
        if state is None:
            raise NoSuchRun(f"no run {run_id!r} in {self.path}")
        return state

    def find(self, run_id: str) -> RunState | None:
        """The run as it was last saved, None if there is none."""
        with self._transaction(False):
            row = self._one("SELECT revision, head FROM runs WHERE run_id = ?", run_id)
            if row is None:
                return None
            state: RunState = msgspec.json.decode(row[1], type=RunState)
            state.revision = row[0]
            for kind, item in _LISTS.items():
                setattr(state, kind, self._read(run_id, kind, item))
        return state

    def run_ids(self) -> list[str]:
        """The ids of all runs, sorted."""
        rows = self._connection.execute("SELECT run_id FROM runs ORDER BY run_id")
        return [row[0] for row in rows]

    @contextmanager
    def _transaction(self, durable: bool) -> Iterator[None]:
        run = self._connection.execute
        with self._lock:
            run(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
            run("BEGIN IMMEDIATE")
            try:
                yield
                run("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    run("ROLLBACK")
                raise

    def _counts(self, state: RunState) -> tuple[int, ...]:
        """How much of each list is stored; raises `StaleRun`."""
        row = self._one(f"SELECT revision, {_COUNTS} FROM runs WHERE run_id = ?", state.run_id)
        if row is None:
            return (0,) * len(_LISTS)
        revision, *counts = row
        if revision != state.revision:
            raise StaleRun(
                f"run {state.run_id!r} is at revision {revision} in the store and at "
                f"{state.revision} here: load it again"
            )
        return tuple(counts)

    def _append(self, run_id: str, kind: str, stored: int, items: list[Any]) -> None:
        new = enumerate(items[stored:], stored)
        self._connection.executemany(
            "INSERT INTO rows VALUES (?, ?, ?, ?)",
            ((run_id, kind, position, msgspec.json.encode(item)) for position, item in new),
        )

    def _put_head(self, state: RunState, counts: list[int]) -> None:
        lists: dict[str, Any] = {kind: [] for kind in _LISTS}
        head = msgspec.json.encode(msgspec.structs.replace(state, **lists))
        self._connection.execute(
            f"INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?{', ?' * len(_LISTS)})",
            (state.run_id, state.revision + 1, state.status.value, head, *counts),
        )

    def _read(self, run_id: str, kind: str, item: type) -> list[Any]:
        rows = self._connection.execute(
            "SELECT body FROM rows WHERE run_id = ? AND kind = ? ORDER BY position",
            (run_id, kind),
        )
        return [msgspec.json.decode(row[0], type=item) for row in rows]

    def _one(self, query: str, *values: Any) -> Any:
        return self._connection.execute(query, values).fetchone()


POLL, PATIENCE = 0.001, 10.0
"""Seconds between two looks at a lock that is held for microseconds, and until they are given up:
its owner was stopped in the middle of them."""


class Claims:
    """Claims on runs, as files in `folder`, which is made if need be."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def claim(self, run_id: str) -> Iterator[None]:
        """Own the run until the context ends; raises `RunBusy` if another owner lives."""
        from filelock import FileLock, Timeout  # late: a run that is not stored locks nothing

        name = hashlib.sha256(run_id.encode()).hexdigest()[:32]
        path = self._folder / f"{name}.lock"
        lock = FileLock(path, timeout=0)
        try:
            with self.exclusively("claims", PATIENCE):
                lock.acquire()
        except Timeout:
            raise RunBusy(f"run {run_id!r} is being run by another process") from None
        try:
            yield
        finally:
            self._let_go(lock, path)

    def exclusively(self, what: str, patience: float = -1) -> FileLock:
        """A lock to hold for a moment; `filelock.Timeout` after `patience` seconds, -1: never."""
        from filelock import FileLock  # late, as above

        return FileLock(self._folder / f"{what}.lock", timeout=patience, poll_interval=POLL)

    def _let_go(self, lock: FileLock, path: Path) -> None:
        from filelock import Timeout  # late, as above

        try:
            with self.exclusively("claims", PATIENCE):
                lock.release()
                path.unlink(missing_ok=True)
        except (Timeout, OSError):  # it stays, and is removed with the next claim
            lock.release()
