"""Somebody's command, run against a provider of its own: what `fakeprovider exec` does."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from fakeprovider import tokens
from fakeprovider.driving.gates import Gates, Guard, RunTotals
from fakeprovider.driving.supervisor import Ended, Supervisor
from fakeprovider.faults import NONE, plan, unstruck
from fakeprovider.journal import Exchange, Journal
from fakeprovider.server import Server
from fakeprovider.serving import path_options
from fakeprovider.settings import Settings
from fakeprovider.verdict import BadLedger, ClauseResult, Effect, Facts, read_effects, verdict

KEY = "fakeprovider"
"""The API key that the command is given: any will do."""

GATE_FAILED = 3
"""Exit status where a gate failed, whatever the command's own."""
TIMED_OUT = 124
"""Exit status where the time was up, as timeout(1) has it."""

_LOCAL = "127.0.0.1,localhost"


@dataclass(frozen=True, slots=True)
class Drive:
    """How to run a command.

    script: name, with path parameters if any. settings: of the provider. cap: the limit on model
    calls that the command was given, for the verdict. timeout and grace in seconds. effects: a
    ledger that the command's tools write, for the verdict. journal: a file. run: the run key,
    without it a random one (with chaos a fixed one). capture: keep so many bytes of the command's
    output instead of passing it on.
    """

    script: str
    settings: Settings = field(default_factory=Settings)
    gates: Gates = field(default_factory=Gates)
    timeout: float | None = None
    grace: float = 5.0
    cap: int | None = None
    effects: Path | None = None
    journal: Path | None = None
    run: str = ""
    capture: int | None = None


@dataclass(frozen=True, slots=True)
class Driven:
    """A run that is over: how the command ended, its totals, its verdict, the gates that failed.

    `undecided` are the clauses of gates that could not be decided and are no failure, `unstruck`
    the faults that never struck, in words.
    """

    run: str
    ended: Ended
    totals: RunTotals
    verdict: tuple[ClauseResult, ...]
    failures: tuple[str, ...]
    undecided: tuple[ClauseResult, ...]
    unstruck: tuple[str, ...]
    exchanges: tuple[Exchange, ...]

    @property
    def status(self) -> int:
        """The exit status: 3 where a gate failed, 124 where the time was up, else the command's."""
        if self.failures:
            return GATE_FAILED
        if self.ended.reason is not None and self.ended.reason.startswith("timeout"):
            return TIMED_OUT
        return self.ended.status


def environment(server: Server, script: str = "", run: str = "") -> dict[str, str]:
    """The variables by which clients find a provider: base URLs and keys for the usual SDKs.

    Proxies are told to leave loopback alone.
    """
    return {
        **base_urls(server.url_for(script, run=run)),
        "FAKEPROVIDER_URL": server.url,
        "FAKEPROVIDER_RUN": run,
    }


def base_urls(base_url: str) -> dict[str, str]:
    """The variables for a base URL that ends in `/v1`."""
    spared = {
        name: f"{before},{_LOCAL}" if (before := os.environ.get(name)) else _LOCAL
        for name in ("NO_PROXY", "no_proxy")
    }
    return {
        "LLM_BASE_URL": base_url,
        "OPENAI_BASE_URL": base_url,
        "OPENAI_API_BASE": base_url,
        "OPENAI_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": base_url.removesuffix("/v1"),  # its SDK adds the version
        "ANTHROPIC_API_KEY": KEY,
        **spared,
    }


def drive(command: Sequence[str], how: Drive) -> Driven:
    """Run a command to its end against a provider on a free port; nothing is left running.

    A ledger of effects that cannot be read is a failure like that of a gate. Raises
    `UnknownScript` before anything is started.
    """
    run = how.run or _key(how)

    def end(reason: str) -> None:
        supervisor.stop(reason)

    guard = Guard(how.gates, end)
    journal = Journal(how.journal, watch=guard.add)
    server = Server(
        how.script.partition(";")[0], settings=how.settings, journal=journal, gate=guard.admit
    )
    with closing(journal), server:
        threading.Thread(target=tokens.encoding, name="warm-up", daemon=True).start()
        supervisor = Supervisor(
            command,
            env={**os.environ, **environment(server, how.script, run), **_ledger(how)},
            timeout=how.timeout,
            grace=how.grace,
            capture=how.capture,
        )
        ended = supervisor.run()
    return _judged(how, run, ended, guard.totals, tuple(journal.exchanges()))


def _judged(
    how: Drive, run: str, ended: Ended, totals: RunTotals, exchanges: tuple[Exchange, ...]
) -> Driven:
    """What a run that is over comes to, and what it was not held to."""
    effects, unread = _effects(how)
    facts = Facts(effects=effects, cap=how.cap, ended=ended.reason is None)
    results = tuple(verdict(exchanges, facts))
    failures = [
        *_silence(how.gates, totals, ended),
        *unread,
        *how.gates.failures(totals, results),
    ]
    return Driven(
        run,
        ended,
        totals,
        results,
        tuple(failures),
        tuple(how.gates.undecided(results)),
        _unstruck(how, exchanges),
        exchanges,
    )


def _silence(gates: Gates, totals: RunTotals, ended: Ended) -> Iterator[str]:
    """A command that ended by itself and asked nothing has most likely not found the provider."""
    expected = gates.expect_turns is None or gates.expect_turns[0] > 0
    killed = ended.status > 128  # by Ctrl-C, for one: its status says so
    if expected and totals.requests == 0 and ended.reason is None and not killed:
        yield (
            "COMMAND made no request; it finds the provider in LLM_BASE_URL, OPENAI_BASE_URL, "
            "OPENAI_API_BASE or ANTHROPIC_BASE_URL (--expect-turns 0 if it shall make none)"
        )


def _key(how: Drive) -> str:
    """A run key of its own; with chaos always the same, since the key decides what is drawn."""
    chaotic = how.settings.chaos is not None or "chaos=" in how.script
    return "run-chaos" if chaotic else f"run-{secrets.token_hex(6)}"


def _ledger(how: Drive) -> dict[str, str]:
    return {} if how.effects is None else {"FAKEPROVIDER_EFFECTS": str(how.effects.absolute())}


def _unstruck(how: Drive, exchanges: Sequence[Exchange]) -> tuple[str, ...]:
    options = how.script.partition(";")[2]
    orders = path_options.parse(options).orders if options else NONE
    plans = [*orders.plans, *(plan(fault.name, fault.params) for fault in how.settings.faults)]
    return tuple(unstruck(plans, exchanges))


def _effects(how: Drive) -> tuple[list[Effect] | None, list[str]]:
    """The ledger of effects, if the command wrote one; and what is wrong with it."""
    if how.effects is None or not how.effects.exists():
        return None, []
    try:
        return read_effects(how.effects), []
    except (BadLedger, OSError) as error:
        return None, [f"the ledger cannot be read: {error} (--effects)"]
