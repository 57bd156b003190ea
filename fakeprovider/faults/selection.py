"""Which fault strikes a reply: asked for by the path, the server, the script, or drawn by chaos."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fakeprovider.conversation import Conversation
from fakeprovider.faults.attempts import Attempts
from fakeprovider.faults.chaos import Chaos
from fakeprovider.faults.kind import Kind
from fakeprovider.faults.registry import Plan, plan
from fakeprovider.replies import Fault, Reply


@dataclass(frozen=True, slots=True)
class Orders:
    """The faults that somebody asked for, and the chaos."""

    plans: tuple[Plan, ...] = ()
    chaos: Chaos | None = None

    @property
    def counts(self) -> bool:
        """Whether any of it depends on the attempt."""
        return self.chaos is not None or any(plan.times is not None for plan in self.plans)

    def __bool__(self) -> bool:
        return bool(self.plans) or self.chaos is not None


NONE = Orders()


@dataclass(frozen=True, slots=True)
class Moment:
    """A request at the point where its fault is decided.

    `turn` is what the script goes by, `told` the client's own count of its retries.
    """

    dialect: str
    conversation: Conversation
    reply: Reply
    turn: int
    run: str = ""
    told: int = 0


@dataclass(frozen=True, slots=True)
class Choice:
    """The fault that strikes, if one does; the attempt, if it was counted; what did not apply.

    `missed` has names and reasons of faults that were due and could not strike this reply.
    """

    plan: Plan | None = None
    attempt: int | None = None
    missed: tuple[tuple[str, str], ...] = ()


NOTHING = Choice()


class Faults:
    """What a server does wrong: its own orders, and the ledger of attempts for everybody's."""

    def __init__(self, orders: Orders = NONE, attempts: Attempts | None = None) -> None:
        self.orders = orders
        self.attempts = attempts or Attempts()

    def choose(self, moment: Moment, path: Orders = NONE) -> Choice:
        """The first fault that is due: of the path, the server, the script, of chaos.

        Raises `BadFault` for a reply that names none that exists.
        """
        scripted = moment.reply.fault
        if scripted is None and not path and not self.orders:
            return NOTHING
        own = orders((scripted,)) if scripted else NONE
        all_orders = (path, self.orders, own)
        attempt = None
        if any(one.counts for one in all_orders):
            attempt = self.attempts.next(moment.run, moment.conversation.digest, moment.told)
        return _first(moment, all_orders, moment.told if attempt is None else attempt, attempt)

    def miscount(self, dialect: str, path: Orders = NONE) -> Plan | None:
        """The first fault of the path, else of the server, that is about counting tokens."""
        plans = (*path.plans, *self.orders.plans)
        found = (one for one in plans if one.kind.count and dialect in one.kind.dialects)
        return next(found, None)


def orders(faults: Iterable[Fault], chaos: Chaos | None = None) -> Orders:
    """Orders for faults by name; raises `BadFault`."""
    plans = tuple(plan(fault.name, fault.params) for fault in faults)
    return Orders(plans, chaos) if plans or chaos else NONE


def _first(
    moment: Moment, all_orders: Iterable[Orders], number: int, attempt: int | None
) -> Choice:
    missed: list[tuple[str, str]] = []
    for one in _due(moment, all_orders, number):
        why = _misses(moment, one.kind)
        if not why:
            return Choice(one, attempt, tuple(missed))
        missed.append((one.kind.name, why))
    return Choice(None, attempt, tuple(missed))


def _due(moment: Moment, all_orders: Iterable[Orders], number: int) -> Iterator[Plan]:
    for given in all_orders:
        for one in given.plans:
            if one.kind.count is None and one.strikes(moment.turn, number):
                yield one
    for given in all_orders:
        if given.chaos is not None:
            drawn = given.chaos.draw(
                moment.run, moment.turn, number, lambda kind: not _misses(moment, kind)
            )
            if drawn is not None:
                yield drawn


def _misses(moment: Moment, kind: Kind) -> str:
    return kind.misses(moment.dialect, moment.conversation, moment.reply)
