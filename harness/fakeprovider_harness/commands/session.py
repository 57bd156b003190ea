"""One command from options to exit status: model, tools, store, a person, and Ctrl-C."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

import click

from fakeprovider_harness.budget.charging import UnknownPrice, refuse_unpriced
from fakeprovider_harness.cancel import Cancel
from fakeprovider_harness.commands.cli import INTERRUPTED
from fakeprovider_harness.commands.file_tools import hands
from fakeprovider_harness.commands.options import Options, refuse_empty
from fakeprovider_harness.commands.terminal import Person, counted, progress, shown, tell
from fakeprovider_harness.conditions import MaxTurns
from fakeprovider_harness.engine.sync import until_done
from fakeprovider_harness.models.client import make_model
from fakeprovider_harness.models.retry import RetryPolicy
from fakeprovider_harness.outer import Caps, OuterReport, Setup
from fakeprovider_harness.outer.setup import silent
from fakeprovider_harness.persistence.store import NoSuchRun, Store
from fakeprovider_harness.settings import Settings
from fakeprovider_harness.state import RunBusy, RunState, StaleRun
from fakeprovider_harness.trace import no_trace
from fakeprovider_harness.verify.command import CommandSucceeds

T = TypeVar("T")

SYSTEM = "You work on one project with the tools you have. Check what you did before you say done."


@dataclass
class Session:
    """What a command needs; `drive` runs it and returns its result, also after Ctrl-C."""

    options: Options
    store: Store
    setup: Setup

    def drive(self, work: Coroutine[Any, Any, T]) -> T:
        """Run to the end; Ctrl-C ends it resumably, and what came of it is returned all the same.

        Raises `click.ClickException` for what is the user's to mend.
        """
        result: list[T] = []

        async def collected() -> None:
            try:
                result.append(await work)
            finally:
                await self.setup.model.aclose()

        try:
            until_done(collected(), self.setup.cancel)
        except KeyboardInterrupt:
            tell("interrupted")
        except UnknownPrice as error:
            raise _no_price(self.options) from error
        except (RunBusy, StaleRun, ValueError) as error:
            raise click.ClickException(str(error)) from error
        if not result:
            raise click.exceptions.Exit(INTERRUPTED)
        return result[0]

    def load(self, run_id: str) -> RunState:
        """A run of the store; raises `click.ClickException` naming those there are."""
        try:
            return self.store.load(run_id)
        except NoSuchRun as error:
            known = ", ".join(self.store.run_ids()[-10:]) or "none"
            raise click.ClickException(f"{error}; the latest are: {known}") from error
        except ValueError as error:
            raise click.ClickException(f"run {run_id} cannot be read: {error}") from error

    def finish(self, report: OuterReport, go_on: str | None) -> None:
        """Say what an outer loop came to and how to `go_on`, and leave with its exit status."""
        cost = "cost unknown" if report.unpriced else f"${report.cost_usd:f}"
        count, verified = counted(len(report.iterations), "iteration"), report.verified
        words = f"{count} · {cost} · verified: {'yes' if verified else 'no'}"
        tell(f"{report.loop}: {report.stop} · {words}")
        if not report.done and go_on is not None:
            tell(go_on)
        leave(report.done, cancelled=self.setup.cancel.cancelled)


def leave(done: bool, *, cancelled: bool) -> None:
    """End with 0 where the work is done, 130 after Ctrl-C, else 1."""
    sys.exit(0 if done else INTERRUPTED if cancelled else 1)


@contextmanager
def session(options: Options, *, stop_default: int | None = None) -> Iterator[Session]:
    """Everything a command needs, for as long as it lasts."""
    cancel = Cancel()
    turns = stop_default if options.max_turns is None else options.max_turns
    _refuse_unpriced(options)
    if not options.base_url:
        raise click.UsageError("give --base-url, or set LLM_BASE_URL (http://127.0.0.1:8000)")
    try:
        model = make_model(options.protocol, options.base_url, options.model, stream=options.stream)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    with _store(options.store_path) as store:
        setup = Setup(
            model=shown(model, quiet=options.quiet),
            tools=hands(options.directory, ask=not options.yes, protected=options.protect),
            stop=None if turns is None else MaxTurns(turns),
            price=options.price,
            settings=Settings(retry=RetryPolicy()),
            trace=no_trace if options.quiet else progress,
            store=store,
            cancel=cancel,
            decide=Person(cancel, yes=options.yes),
            say=silent if options.quiet else tell,
        )
        yield Session(options, store, setup)


def _store(path: Path) -> Store:
    """Where runs are kept; raises `click.UsageError` where none can be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return Store(path)
    except (OSError, ValueError, sqlite3.Error) as error:
        raise click.UsageError(
            f"runs cannot be kept in {path}: {error}; give --store FILE or set HARNESS_STORE"
        ) from error


def _refuse_unpriced(options: Options) -> None:
    """Before anything is begun: a budget is no use without a price."""
    if options.max_cost is None:
        return
    try:
        refuse_unpriced(options.price, options.model)
    except UnknownPrice as error:
        raise _no_price(options) from error


def _no_price(options: Options) -> click.UsageError:
    return click.UsageError(
        f"--max-cost needs the price of {options.model!r}: give --price-in and "
        "--price-out in USD per million tokens, or --prices FILE"
    )


def caps(options: Options) -> Caps:
    """The caps of an outer loop; raises `click.UsageError` for 0, and where there is none."""
    cost: Decimal | None = options.max_cost
    try:
        return Caps(
            iterations=options.max_iterations,
            cost=cost,
            tokens=options.max_tokens,
            seconds=options.max_seconds,
            unlimited=options.unlimited,
        )
    except ValueError as error:
        words = str(error).partition(": give ")[0].replace("Caps: ", "--max-")
        hint = "give --max-iterations, --max-cost, --max-tokens or --max-seconds, or --unlimited"
        raise click.UsageError(f"{words}: {hint}" if words != str(error) else words) from error


def check_of(command: str | None, options: Options) -> CommandSucceeds | None:
    """A shell command as a check, None without one; raises `click.UsageError` for no words."""
    refuse_empty(command, "--check is a command")
    if command is None:
        return None
    return CommandSucceeds(["sh", "-c", command], cwd=options.directory)
