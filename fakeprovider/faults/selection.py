"""Which fault strikes a reply: asked for by the path, the server, the script, or drawn by chaos.

A fault is asked for with its parameters, for some turns and some attempts. Which attempt a request
is, is the one thing about a reply that does not follow from the request: a ledger counts them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from threading import Lock
from typing import Any

from fakeprovider.conversation import Conversation
from fakeprovider.faults.kind import BadFault, Kind, Values
from fakeprovider.faults.registry import FAULTS, find
from fakeprovider.journal import Exchange
from fakeprovider.parsing.caches import ByteBoundedCache
from fakeprovider.replies import Fault, Reply

_RANGE = re.compile(r"(\d{1,9})(-(\d{1,9})?)?")


@dataclass(frozen=True, slots=True)
class Turns:
    """A range of turns, counted from 0; `last` None is open."""

    first: int = 0
    last: int | None = None

    def __contains__(self, turn: int) -> bool:
        return self.first <= turn and (self.last is None or turn <= self.last)


@dataclass(frozen=True, slots=True)
class Plan:
    """A fault as it is asked for.

    It strikes on `turns`, the first `times` attempts of each (None: all of them).
    """

    kind: Kind
    values: Values
    turns: Turns = Turns()
    times: int | None = None

    def strikes(self, turn: int, attempt: int) -> bool:
        """Whether it is this turn's and this attempt's; attempts are counted from 0."""
        return turn in self.turns and (self.times is None or attempt < self.times)


def plan(name: str, given: Mapping[str, Any] | None = None) -> Plan:
    """A fault with its parameters, and with `turn` and `times`; raises `BadFault`.

    `turn` is a number, or a range such as `2-5` or `3-`.
    """
    kind = find(name)
    params = dict(given or {})
    turn, times = params.pop("turn", None), params.pop("times", None)
    return Plan(kind, kind.values(params), _turns(turn), _times(times))


def _turns(turn: Any) -> Turns:
    """The turns that a parameter `turn` names; raises `BadFault`."""
    if turn is None:
        return Turns()
    match = _RANGE.fullmatch(str(turn))
    if match is None or isinstance(turn, bool):
        raise BadFault(f"turn={turn!r}: must be a turn from 0 on, or a range such as 2-5 or 3-")
    first = int(match[1])
    if match[2] is None:
        return Turns(first, first)
    last = int(match[3]) if match[3] else None
    if last is not None and last < first:
        raise BadFault(f"turn={turn!r}: the range ends before it begins")
    return Turns(first, last)


def _times(times: Any) -> int | None:
    """How many attempts a parameter `times` names; raises `BadFault`."""
    if times is None:
        return None
    if isinstance(times, bool) or not str(times).isdecimal() or not 1 <= int(times) < 10**9:
        raise BadFault(f"times={times!r}: must be a whole number, 1 or more")
    return int(times)


MOST_SEED = 2**64
_BLOCK = 100  # turns of a run in which there is at least one fault


def chaos_faults() -> tuple[str, ...]:
    """The faults of `--chaos` unless others are named: a decent client recovers from each."""
    return tuple(name for name, kind in FAULTS.items() if kind.chaos)


@dataclass(frozen=True, slots=True)
class Chaos:
    """Faults drawn at random, the same ones every time: by seed, run key, turn and attempt.

    Each attempt has one with probability `share` (0 to 1), drawn from `names`. However small the
    share, one turn of each hundred has a fault at its first attempt. Raises `BadFault`.
    """

    share: float
    seed: int = 0
    names: tuple[str, ...] = field(default_factory=chaos_faults)

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise BadFault(f"chaos={self.share!r}: must be 0 to 1")
        if not 0 <= self.seed < MOST_SEED:
            raise BadFault(f"seed={self.seed!r}: must be 0 to 2**64 - 1")
        if not self.names:
            raise BadFault("chaos needs at least one fault to draw from")
        for name in self.names:
            find(name)

    def draw(self, run: str, turn: int, attempt: int, fits: Callable[[Kind], bool]) -> Plan | None:
        """The fault of this attempt, if it has one; only what `fits` is drawn."""
        chance, which = self._numbers(f"{run}|{turn}|{attempt}")
        if chance >= self.share * 2**32 and not self._due(run, turn, attempt):
            return None
        kinds = [kind for kind in map(find, self.names) if fits(kind)]
        if not kinds:
            return None
        kind = kinds[which % len(kinds)]
        return Plan(kind, kind.values({}))

    def _due(self, run: str, turn: int, attempt: int) -> bool:
        """Whether this is the turn of its hundred that has a fault in any case."""
        chosen, _ = self._numbers(f"{run}|block {turn // _BLOCK}")
        return self.share > 0 and attempt == 0 and turn % _BLOCK == chosen % _BLOCK

    def _numbers(self, key: str) -> tuple[int, int]:
        """Two numbers below 2**32 that follow from the seed and `key`."""
        digest = blake2b(f"{self.seed}|{key}".encode(), digest_size=8).digest()
        return int.from_bytes(digest[:4], "big"), int.from_bytes(digest[4:], "big")


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


def orders(faults: Iterable[Fault], chaos: Chaos | None = None) -> Orders:
    """Orders for faults by name; raises `BadFault`."""
    plans = tuple(plan(fault.name, fault.params) for fault in faults)
    return Orders(plans, chaos) if plans or chaos else NONE


MIB = 1 << 20


class Attempts:
    """The ledger: counts equal requests of a run, and is forgotten with the journal.

    `limit` is in bytes; what was not used for longest goes first.
    """

    def __init__(self, limit: int = 8 * MIB) -> None:
        self._limit = limit
        self._counts: ByteBoundedCache[tuple[str, str], int] = ByteBoundedCache(limit)
        self._lock = Lock()

    def next(self, run: str, digest: str, retries: int = 0) -> int:
        """The number of this attempt, from 0; it is counted.

        The larger of what was counted and of the `retries` that the client says it has made.
        """
        with self._lock:
            key = (run, digest)
            attempt = max(self._counts.get(key) or 0, retries)
            self._counts.put(key, attempt + 1, 2 * (len(run) + len(digest)) + 200)
        return attempt

    def clear(self, run: str | None = None) -> None:
        """Forget what was counted, or that of one run."""
        with self._lock:
            if run is None:
                self._counts = ByteBoundedCache(self._limit)
                return
            for key in self._counts.known():
                if key[0] == run:
                    self._counts.drop(key)


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

    def misses(self, kind: Kind) -> str:
        """Why a fault cannot strike this reply; "" if it can."""
        return kind.misses(self.dialect, self.conversation, self.reply)


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
        all_orders = (path, self.orders, orders((scripted,)) if scripted else NONE)
        attempt = None
        if any(each.counts for each in all_orders):
            attempt = self.attempts.next(moment.run, moment.conversation.digest, moment.told)
        return _first(moment, all_orders, attempt)

    def miscount(self, dialect: str, path: Orders = NONE) -> Plan | None:
        """The first fault of the path, else of the server, that is about counting tokens."""
        plans = (*path.plans, *self.orders.plans)
        due = (plan for plan in plans if plan.kind.count and dialect in plan.kind.dialects)
        return next(due, None)


def _first(moment: Moment, all_orders: Iterable[Orders], attempt: int | None) -> Choice:
    """The first fault that is due and can strike."""
    number = moment.told if attempt is None else attempt
    missed: list[tuple[str, str]] = []
    for plan in _due(moment, all_orders, number):
        why = moment.misses(plan.kind)
        if not why:
            return Choice(plan, attempt, tuple(missed))
        missed.append((plan.kind.name, why))
    return Choice(None, attempt, tuple(missed))


def _due(moment: Moment, all_orders: Iterable[Orders], number: int) -> Iterator[Plan]:
    """What was asked for on this turn and attempt, then what chaos draws."""
    for given in all_orders:
        for plan in given.plans:
            if plan.kind.count is None and plan.strikes(moment.turn, number):
                yield plan
    for given in all_orders:
        if given.chaos is not None:
            drawn = given.chaos.draw(
                moment.run, moment.turn, number, lambda kind: not moment.misses(kind)
            )
            if drawn is not None:
                yield drawn


def unstruck(plans: Sequence[Plan], exchanges: Sequence[Exchange]) -> list[str]:
    """A sentence for each fault that struck none of the exchanges, with the reason if it is known.

    A test of a fault that never struck proves nothing. Faults of one name are told apart by their
    turns.
    """
    names = [plan.kind.name for plan in plans]
    sentences = []
    for plan in plans:
        alone = names.count(plan.kind.name) == 1
        if not any(_struck(plan, exchange, alone) for exchange in exchanges):
            sentences.append(f"fault {_shown(plan)} never struck: {_why(plan, exchanges)}")
    return sentences


def _struck(plan: Plan, exchange: Exchange, alone: bool) -> bool:
    """Whether the exchange has the fault, and the fault is of this plan."""
    if exchange.fault != plan.kind.name:
        return False
    return alone or exchange.turn is None or exchange.turn in plan.turns


def _shown(plan: Plan) -> str:
    turns = plan.turns
    if turns.first == turns.last:
        return f"{plan.kind.name!r} (turn {turns.first})"
    if turns.last is not None or turns.first:
        last = "" if turns.last is None else turns.last
        return f"{plan.kind.name!r} (turns {turns.first}-{last})"
    return repr(plan.kind.name)


def _why(plan: Plan, exchanges: Sequence[Exchange]) -> str:
    """The reason that the journal gives, or else which turns there were."""
    if plan.kind.count is not None:
        return "nothing asked for a count of tokens that it could change"
    missed = f"{plan.kind.name}: "
    reasons = (
        note.detail.removeprefix(missed)
        for exchange in exchanges
        for note in exchange.notes
        if note.rule == "fault_missed" and note.detail.startswith(missed)
    )
    turns = sorted({each.turn for each in exchanges if each.turn is not None and not each.side})
    if not turns:
        return "no turn was asked for"
    shown = f"{turns[0]}" if len(turns) == 1 else f"{turns[0]} to {turns[-1]}"
    return next(reasons, f"the turns that were asked for are {shown}")
