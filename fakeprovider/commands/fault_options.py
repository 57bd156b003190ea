"""Options by which a server is told to misbehave: faults, chaos, pace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import click

from fakeprovider import pacing
from fakeprovider.commands.options import Finite
from fakeprovider.faults import BadFault, Chaos, plan
from fakeprovider.faults.selection import MOST_SEED
from fakeprovider.replies import Fault, Pace


@dataclass(frozen=True, slots=True)
class Trouble:
    """What the options say, for a server."""

    faults: tuple[Fault, ...] = ()
    chaos: Chaos | None = None
    pace: Pace | None = None


def trouble_options(command: Callable[..., None]) -> Callable[..., None]:
    """`--fault`, `--chaos`, `--seed`, `--pace`, `--latency`; the command is given `trouble`."""

    @wraps(command)
    def read(
        *args: Any,
        fault: tuple[str, ...],
        chaos: float | None,
        seed: int | None,
        pace: str | None,
        latency: float | None,
        **others: Any,
    ) -> None:
        found = tuple(map(_fault, fault))
        if seed is not None and chaos is None:
            raise click.UsageError("--seed needs --chaos SHARE beside it")
        drawn = None if chaos is None else Chaos(chaos, seed or 0)
        command(*args, trouble=Trouble(found, drawn, _pace(pace, latency)), **others)

    for option in reversed(_OPTIONS):
        read = option(read)
    return read


_OPTIONS = (
    click.option(
        "--fault",
        multiple=True,
        metavar="NAME[,PARAM=VALUE...]",
        help="Get this wrong, e.g. rate_limited,turn=3,times=2; see `fakeprovider faults`.",
    ),
    click.option(
        "--chaos",
        type=Finite(0, 1),
        metavar="SHARE",
        help="Draw faults at random for this share of attempts (0 to 1), the same ones each time.",
    ),
    click.option(
        "--seed",
        type=click.IntRange(0, MOST_SEED - 1),
        help="Which of the draws of --chaos; 0 if nothing is said.",
    ),
    click.option(
        "--pace", type=click.Choice(list(pacing.PROFILES)), help="Reply as fast as this service."
    ),
    click.option("--latency", type=Finite(0), metavar="MS", help="Wait before the first token."),
)


def _fault(written: str) -> Fault:
    name, *pairs = written.split(",")
    words: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or key in words:
            raise click.UsageError(f"--fault {written!r}: {pair!r} must be PARAM=VALUE, once each")
        words[key] = value
    try:
        plan(name, words)
    except BadFault as error:
        raise click.UsageError(str(error)) from error
    return Fault(name, words)


def _pace(profile: str | None, latency: float | None) -> Pace | None:
    words = {} if profile is None else {"pace": profile}
    if latency is not None:
        words["latency"] = str(latency)
    try:
        return pacing.read(words)
    except pacing.BadPace as error:
        raise click.UsageError(str(error)) from error
