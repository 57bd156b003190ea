"""Any command, in any language: driven through its environment, judged from the journal."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from fakeprovider.driving.command_run import Drive, Driven, drive
from fakeprovider.driving.gates import Gates
from fakeprovider.journal import Exchange
from fakeprovider_bench.report import Row, StopCell
from fakeprovider_harness.budget.charging import Price

CUT_OFF = "cut_off"
CAPTURE = 4000  # bytes of the command's output that are kept to tell why it failed
SHOWN = 1000  # characters of them that are shown


class NoRequest(Exception):
    """The command ended without having asked the provider anything."""


@dataclass(frozen=True)
class Cut:
    """Where the provider ends a command that does not end by itself; None is nowhere."""

    requests: int | None = None
    tokens: int | None = None
    seconds: float = 600.0

    @property
    def name(self) -> str:
        """How a row says it."""
        if self.tokens is not None:
            return f"cut at {self.tokens:,} tokens"
        return "as it is" if self.requests is None else f"cut at {self.requests} requests"


def run_command(command: Sequence[str], script: str, cut: Cut, price: Price) -> Row:
    """Run `command` against `script` and make a row of what the provider saw.

    Its tool runs, its status and its answer are its own affair and not observable. Raises
    `NoRequest` where it never asked the provider anything. A signal that ends us reaches the
    command first and us when it has ended.
    """
    gates = Gates(max_requests=cut.requests, max_tokens=cut.tokens)
    with ending_signals():
        driven = drive(command, Drive(script, gates=gates, timeout=cut.seconds, capture=CAPTURE))
    if driven.totals.requests == 0:
        raise NoRequest(_silence(driven))
    answered = [
        exchange
        for exchange in driven.exchanges
        if exchange.usage is not None and exchange.status < 400
    ]
    usages = [exchange.usage for exchange in answered if exchange.usage]
    prompts = [usage.prompt_tokens for usage in usages]
    completions = [usage.completion_tokens for usage in usages]
    return Row(
        policy=cut.name,
        turns=driven.totals.turns,
        tool_runs=None,
        prompt_tokens=prompts,
        completion_tokens=completions,
        input_tokens=sum(prompts),
        output_tokens=sum(completions),
        cost_usd=_cost(prompts, completions, price),
        status=None,
        stop=_stop(driven, cut),
        wall_ms=round(driven.ended.seconds * 1000, 3),
        extra=_seen(driven, answered),
    )


def _silence(driven: Driven) -> str:
    """Why there is nothing to tabulate: the exit status and the end of the command's output."""
    if driven.ended.reason is not None and not driven.ended.started:
        return f"the command {driven.ended.reason}; what follows `--` is run as another harness"
    output = driven.ended.output.decode(errors="replace").strip()
    return (
        f"the command made no request (exit status {driven.ended.status}). It finds the "
        "provider in LLM_BASE_URL, OPENAI_BASE_URL, OPENAI_API_BASE or ANTHROPIC_BASE_URL."
        + (f" Its last words:\n{output[-SHOWN:]}" if output else "")
    )


def _cost(prompts: list[int], completions: list[int], price: Price) -> Decimal:
    spent = sum(prompts) * price.input + sum(completions) * price.output
    return spent / 1_000_000


def _stop(driven: Driven, cut: Cut) -> StopCell | None:
    """Why the provider ended the command; None where it ended by itself, for reasons of its own."""
    reason = driven.ended.reason
    if reason is None:
        return None
    limit = cut.requests if cut.tokens is None else cut.tokens
    return StopCell(CUT_OFF, limit=limit, reason=reason)


def _seen(driven: Driven, answered: list[Exchange]) -> dict[str, Any]:
    totals = driven.totals
    refused = [
        exchange for exchange in driven.exchanges if exchange.status >= 400 or exchange.status == 0
    ]
    return {
        "exit": driven.ended.status,
        "requests": totals.requests,
        "retries": totals.retries,
        "violations": len(totals.violations),
        "tools asked": sum(len(exchange.tools) for exchange in answered),
        **({"never answered": _refusal(refused[-1])} if refused and not answered else {}),
    }


def _refusal(exchange: Exchange) -> str:
    """What the command was told in place of a reply."""
    return f"{exchange.status or 'no status'}: {exchange.error or exchange.fault or 'no words'}"


ENDING = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT})


@contextmanager
def ending_signals() -> Iterator[None]:
    """Raise the first ending signal again at the end: inside, a supervisor keeps it for a command.

    The numbers of signals are read from the wake-up descriptor, which is told of them whatever
    handler there is. Outside the main thread there are no signals, and nothing is done.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        numbers = _read(reader)
        os.close(reader)
        os.close(writer)
        if number := next((number for number in numbers if number in ENDING), None):
            _raise(number)


def _raise(number: int) -> None:
    if number == signal.SIGINT:  # a shell's background job ignores it, but the command was told
        raise KeyboardInterrupt
    signal.raise_signal(number)


def _read(descriptor: int) -> bytes:
    """The numbers of the signals that came, one byte each, in order."""
    try:
        return os.read(descriptor, 4096)
    except BlockingIOError:
        return b""
