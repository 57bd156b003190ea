"""Requests per second of the provider beside a static Starlette route under the same uvicorn.

Both servers get the same bytes over the same connections; rounds alternate, so that what else the
machine does hits both, and the median round counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from statistics import median

from fakeprovider_bench.speed.conversations import following, same, unseen
from fakeprovider_bench.speed.load import Load, bear
from fakeprovider_bench.speed.processes import Measured, provider, static_route

TURNS = (1, 100, 1000)
AIMS = {1: 1.2, 100: 0.5, 1000: 0.35}
"""Of the static route's requests per second, by the turns of the conversation."""


@dataclass(frozen=True)
class Row:
    """One kind of load at one length: requests per second and processor time per request.

    `kind` is `same` (an identical request again and again, as identical runs send), `next` (the
    next turn of a conversation) or `new` (a conversation never seen); `static` is the yardstick
    for the same length.
    """

    turns: int
    kind: str
    rate: float
    cpu_us: float
    static_rate: float
    static_cpu_us: float

    @property
    def ratio(self) -> float:
        """Requests per second over the static route's."""
        return self.rate / self.static_rate

    @property
    def cpu_ratio(self) -> float:
        """The static route's processor time over ours: steadier than the clock."""
        return self.static_cpu_us / self.cpu_us if self.cpu_us else 0.0


def measure(seconds: float = 1.0, rounds: int = 5) -> Iterator[Row]:
    """Rows as they are measured; `seconds` is the length of one round."""
    with static_route() as yardstick, provider() as ours:
        _warm(yardstick, ours)
        for turns in TURNS:
            yield from _at(turns, yardstick, ours, seconds, rounds)


def _warm(*servers: Measured) -> None:
    for server in servers:
        bear(server, islice(same(2), 200))


def _at(
    turns: int, yardstick: Measured, ours: Measured, seconds: float, rounds: int
) -> Iterator[Row]:
    still, moving = [], []
    for _ in range(rounds):
        still.append(bear(yardstick, same(turns), seconds))
        moving.append(bear(ours, same(turns), seconds))
    yield _row(turns, "same", moving, still)
    if turns > 1:
        conversations = max(8, 2000 // turns)
        first, then = following(turns, conversations, steps=min(10, turns - 1))
        bear(ours, iter(first))
        yield _row(turns, "next", [bear(ours, iter(then))], still)
    prepared = list(islice(unseen(turns), max(8, 4000 // turns)))
    yield _row(turns, "new", [bear(ours, iter(prepared))], still)


def _row(turns: int, kind: str, ours: list[Load], still: list[Load]) -> Row:
    return Row(
        turns,
        kind,
        median(load.rate for load in ours),
        median(load.cpu_us for load in ours),
        median(load.rate for load in still),
        median(load.cpu_us for load in still),
    )
