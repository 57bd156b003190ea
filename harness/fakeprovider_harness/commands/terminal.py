"""A person at a terminal: progress on standard error, decisions on what waits for one."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from fakeprovider_harness.cancel import Cancel
from fakeprovider_harness.clock import Clock, SystemClock
from fakeprovider_harness.engine.approvals import approve, reject
from fakeprovider_harness.models.base import Message, Model, ModelReply, ToolSpec
from fakeprovider_harness.state import Interruption, RunState
from fakeprovider_harness.tooling import model_messages
from fakeprovider_harness.trace import (
    Beside,
    Compaction,
    Event,
    LateEffect,
    Note,
    RequestLost,
    RequestRetried,
    RunStopped,
    ToolEnd,
    ToolProgress,
    TurnEvent,
    Verification,
)

UNASKED = "no terminal to ask on: go on at a terminal, or with --yes"
DOUBTFUL = "no terminal to ask on, and --yes does not answer what may have run before"
YES = "--yes"
PLAIN = ("", model_messages.EXPIRED)  # notes of an approval that leave nothing to think about
SHOWN = 2_000  # characters of arguments, from both ends


def tell(words: str) -> None:
    """A line on standard error."""
    click.echo(words, err=True)


def counted(count: int, what: str) -> str:
    """So many of something, in words."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def progress(event: Event) -> None:
    """What happens in a run, a line each; a trace."""
    words = _words(event)
    if words:
        tell(words)


def _words(event: Event) -> str:
    match event:
        case TurnEvent():
            cost = "cost unknown" if event.cost_usd is None else f"${event.cost_usd:f} so far"
            counts = f"{event.prompt_tokens:,} in, {event.completion_tokens:,} out"
            return f"turn {event.turn}: {counts}, {cost}"
        case ToolEnd():
            return f"  {event.tool}: {event.outcome}, {event.ms:.0f} ms"
        case ToolProgress():
            return f"  {event.tool}: {event.label}"
        case Verification():
            return f"check of turn {event.turn}: {event.verdict} {event.feedback}".rstrip()
        case Compaction():
            return f"history cut: {event.before:,} → {event.after:,} characters are sent"
        case Beside():
            return f"  {event.purpose}: {event.prompt_tokens:,} in, {event.completion_tokens:,} out"
        case RequestRetried():
            return f"  asking again in {event.wait:.1f} s: {event.message}"
        case RequestLost():
            counts = f"{event.prompt_tokens:,} in, {event.completion_tokens:,} out"
            cost = "" if event.cost_usd is None else f", ${event.cost_usd:f}"
            return f"  request lost: {event.why}; charged with {counts}{cost}"
        case LateEffect():
            return f"  {event.tool} ended after it was given up"
        case Note():
            return f"  note: {event.text}"
        case RunStopped():
            words = f"{event.status}: {event.reason} after {counted(event.turns, 'turn')}"
            return f"{words}: {event.why}" if event.why else words
    return ""


class Person:
    """Decides on the calls that wait, at the terminal; Ctrl-C there stops the run.

    With `yes` only those are asked about that may have run before, or whose arguments do not fit.
    """

    def __init__(self, cancel: Cancel, *, yes: bool = False) -> None:
        self._cancel, self._yes = cancel, yes

    def __call__(self, state: RunState) -> bool:
        """Ask about each call that waits; whether the run may go on."""
        for wait in state.interruptions:
            if self._yes and wait.type == "approval" and wait.note in PLAIN:
                approve(state, wait.call_id, by=YES)
            elif not self._answered(state, wait):
                return False
        return True

    def _answered(self, state: RunState, wait: Interruption) -> bool:
        """Ask; whether there was an answer."""
        with _interruptible():
            try:
                self._decide(state, wait)
            except (click.Abort, KeyboardInterrupt) as broken:
                tell("")
                if not isinstance(broken.__context__, EOFError):
                    self._cancel.set("the user left the question open")
                elif not sys.stdin.isatty():
                    tell(DOUBTFUL if self._yes else UNASKED)
                return False
        return True

    def _decide(self, state: RunState, wait: Interruption) -> None:
        shown = legible(json.dumps(wait.args, ensure_ascii=False))
        unknown = wait.type == "unknown_outcome"
        odd = " (it may have run before; yes runs it again)" if unknown else ""
        tell(f"\n{wait.tool} {shown}{odd}" + (f"\n{wait.note}" if wait.note else ""))
        choices = click.Choice(["y", "n"] if unknown else ["y", "n", "a"])
        words = "run it? y, n" + ("" if unknown else ", a: always, for this run")
        answer = click.prompt(words, type=choices, show_choices=False, err=True)
        if answer == "n":
            reason = click.prompt("why not", default="", show_default=False, err=True)
            reject(state, wait.call_id, reason or None, by="terminal")
        else:
            approve(state, wait.call_id, always=answer == "a", by="terminal")


def legible(text: str) -> str:
    """Text that hides nothing from who decides on it: no control characters, no silent cut."""
    plain = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)
    if len(plain) <= 2 * SHOWN:
        return plain
    left_out = len(plain) - 2 * SHOWN
    return f"{plain[:SHOWN]}\n[{left_out:,} characters are not shown]\n{plain[-SHOWN:]}"


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C break off a question: the loop's own handler only takes note of it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


PATIENCE = 2
"""Seconds of silence before anything is said."""

WIPE = "\r\x1b[K"


def shown(model: Model, *, quiet: bool) -> Model:
    """The model, its silence shown on a terminal unless it is to be `quiet`."""
    return (
        model if quiet or sys.stderr is None or not sys.stderr.isatty() else Waiting(model, _write)
    )


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


class Waiting:
    """`model`, which says by `write` how many seconds a request has taken, and wipes that again."""

    def __init__(
        self, model: Model, write: Callable[[str], None], clock: Clock | None = None
    ) -> None:
        self.name = model.name
        self._model, self._write, self._clock = model, write, clock or SystemClock()
        self._written = False

    async def ask(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], **given: Any
    ) -> ModelReply:
        """One request, as the model sends it."""
        counting = asyncio.ensure_future(self._count())
        try:
            return await self._model.ask(messages, tools, **given)
        finally:
            counting.cancel()
            if self._written:
                self._write(WIPE)
                self._written = False

    async def aclose(self) -> None:
        """Close the model."""
        await self._model.aclose()

    async def _count(self) -> None:
        began, seconds = self._clock.monotonic(), PATIENCE
        while True:
            await self._clock.reach(began + seconds)
            self._write(f"\rwaiting for the model, {seconds} s")
            self._written = True
            seconds += 1
