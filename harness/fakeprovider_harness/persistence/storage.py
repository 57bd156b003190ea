"""What the loop needs of a store, and the one that keeps nothing."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from fakeprovider_harness.state import RunState


class RunBusy(Exception):
    """Another process is running this run; nothing was changed."""


class StaleRun(Exception):
    """The store has a newer revision of this run; nothing was changed."""


class Storage(Protocol):
    """Where a run is kept while it goes on."""

    def claim(self, run_id: str) -> AbstractContextManager[None]:
        """Own the run until the context ends; raises `RunBusy` if another owner lives."""
        ...

    def find(self, run_id: str) -> RunState | None:
        """The run as it was last saved, None if there is none."""
        ...

    def save(self, state: RunState, *, durable: bool = False) -> None:
        """Keep what is new since the last save; raises `StaleRun` if somebody else saved.

        `durable` survives the loss of power, otherwise the loss of the process.
        """
        ...


class NoStore:
    """Keeps nothing: a run that ends with its process."""

    def claim(self, run_id: str) -> AbstractContextManager[None]:
        return nullcontext()

    def find(self, run_id: str) -> RunState | None:
        return None

    def save(self, state: RunState, *, durable: bool = False) -> None:
        return None
