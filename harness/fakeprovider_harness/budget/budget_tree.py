"""A run and its sub-agents as one tree: what they may spend together, and how far it may grow.

Every run has an account. A request is admitted by all accounts from its own up to the root, and
what it may use at most is held in each until it is charged: so no two requests, of whatever runs,
can be promised the same money. Charges go up at once. Nothing here outlives the process: the
totals are in the states, and what was in flight when a process died is charged when it resumes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from typing import Any, NamedTuple

import msgspec

from fakeprovider_harness.budget import charging
from fakeprovider_harness.budget.charging import Price
from fakeprovider_harness.conditions.budgets import Need, Reservable
from fakeprovider_harness.models.retry import RetryBudget, RetryPolicy
from fakeprovider_harness.outcomes import Stop
from fakeprovider_harness.settings import Settings
from fakeprovider_harness.state import RunState
from fakeprovider_harness.stop import AllOf, AnyOf, Condition, Stops, fired
from fakeprovider_harness.tooling import model_messages

GRAIN = Decimal("1e-12")
"""USD: shares of money are rounded down to it, so that they never add up to more than the whole."""


class Share(NamedTuple):
    """How much of a budget one child of a batch may use, in the budget's unit."""

    budget: Reservable
    amount: Any


@dataclass(frozen=True)
class Branch:
    """Where in a tree a sub-agent runs: under which account, with which share of its budgets.

    `report` brings the totals of the parent up to what the sub-agent has spent.
    """

    parent: Account
    shares: tuple[Share, ...]
    report: Callable[[RunState], None]

    def refusal(self) -> str | None:
        """Count one more agent in the tree; or say, to the model, why there may be none."""
        return self.parent.refusal()


@dataclass(frozen=True)
class Grant:
    """A request that was admitted: what is held for it, and the output it may ask for.

    `bounded` says that a budget relies on it to use no more than `need`.
    """

    need: Need
    max_output: int | None
    bounded: bool


class Account:
    """What one run of a tree may spend, counting all that runs below it."""

    def __init__(
        self,
        state: RunState,
        condition: Condition,
        settings: Settings,
        tick: Callable[[], None],
        branch: Branch | None = None,
        save: Callable[[], None] = lambda: None,
    ) -> None:
        parent = None if branch is None else branch.parent
        self.state = state
        self.parent = parent
        self.held = Need()
        self._tick, self._save = tick, save
        self._report = None if branch is None else branch.report
        self._tree = tree_part(condition)
        self._limits = [*_own(condition), *_shared(state, () if branch is None else branch.shares)]
        self._depth: int = 0 if parent is None else parent._depth + 1
        self._max_agents = settings.max_agents
        self._max_depth = settings.max_depth
        if parent is not None:
            self._max_depth = min(self._max_depth, parent._max_depth)
        inherited = None if parent is None else parent.retry
        self.retry: RetryPolicy | None = settings.retry or inherited
        self.retries: RetryBudget = (
            RetryBudget(settings.retries) if parent is None else parent.retries
        )
        self._lock: threading.RLock = threading.RLock() if parent is None else parent._lock

    def path(self) -> Iterator[Account]:
        """This account, its parent's, and so on up to the root."""
        account: Account | None = self
        while account is not None:
            yield account
            account = account.parent

    def admit(
        self, prompt: int, wanted: int | None, assumed: int, price: Price | None
    ) -> Grant | Stop:
        """Hold what a request may use at most, or say which budget has no room for it.

        `prompt` bounds its prompt in tokens, `wanted` is the output it asks for; None is the
        service's own limit, `assumed` tokens where a budget needs a number.
        """
        with self._lock:
            output = assumed if wanted is None else wanted
            bounded = False
            for account in self.path():
                for limit in account._limits:
                    room = account._room(limit, prompt, price)
                    if room is None:
                        continue
                    if room < min(limit.budget.smallest, output):
                        return account._refused(limit, prompt, output, price)
                    bounded, output = True, min(output, room)
            need = Need(prompt, output, charging.worst(price, prompt, output), 1)
            for account in self.path():
                account.held += need
            return Grant(need, output if bounded else wanted, bounded)

    def release(self, grant: Grant) -> None:
        """Hold it no longer: the request was charged, or it cannot be."""
        with self._lock:
            for account in self.path():
                account.held -= grant.need

    def charged(self) -> None:
        """The state of this run was charged: bring the totals above it up to date."""
        with self._lock:
            for account in self.path():
                if account._report is not None:
                    account._report(account.state)

    def shares(self, count: int) -> tuple[Share, ...]:
        """What each of `count` sub-agents that start together may use: an even part of the rest."""
        if count < 2:
            return ()
        with self._lock:
            return tuple(
                Share(limit.budget, _even(account._left(limit), count))
                for account in self.path()
                for limit in account._limits
            )

    def over(self) -> Stops:
        """What holds of the conditions above this run that count over the whole tree."""
        stops: list[Stop] = []
        for account in self._above():
            account._tick()
            for stop in () if account._tree is None else fired(account._tree, account.state):
                evidence = {**stop.evidence, "run": account.state.run_id}
                stops.append(msgspec.structs.replace(stop, evidence=evidence))
        return tuple(stops)

    def time_left(self) -> float | None:
        """Seconds until a condition above this run will hold by the passing of time alone."""
        times = []
        for account in self._above():
            account._tick()
            if account._tree is not None:
                times.append(account._tree.time_left(account.state))
        return min((left for left in times if left is not None), default=None)

    def refusal(self) -> str | None:
        """Count one more agent below this run; or say, to the model, why there may be none."""
        with self._lock:
            if self._depth >= self._max_depth:
                return model_messages.too_deep(self._depth)
            for account in self.path():
                most = account._max_agents
                if most is not None and account.state.agents >= most:
                    return model_messages.too_many_agents(most)
            for account in self.path():
                account.state.agents += 1
                account._save()
        return None

    def _above(self) -> Iterator[Account]:
        return iter(()) if self.parent is None else self.parent.path()

    def _left(self, limit: Share) -> Any:
        return limit.amount - limit.budget.measure(self.state) - limit.budget.of(self.held)

    def _room(self, limit: Share, prompt: int, price: Price | None) -> int | None:
        return limit.budget.room(self._left(limit), prompt, price)

    def _refused(self, limit: Share, prompt: int, output: int, price: Price | None) -> Stop:
        least = min(limit.budget.smallest, output)
        need = Need(prompt, least, charging.worst(price, prompt, least), 1)
        needed, left = limit.budget.of(need), self._left(limit)
        evidence = {
            "error": limit.budget.shortage(needed, left),
            "needed": needed,
            "held": limit.budget.of(self.held),
            "run": self.state.run_id,
        }
        return Stop(limit.budget.kind, limit.budget.measure(self.state), limit.amount, 0, evidence)


def tree_part(condition: Condition) -> Condition | None:
    """What of a condition counts over the whole tree; None if nothing does."""
    if isinstance(condition, AnyOf):
        parts = tuple(part for each in condition.parts if (part := tree_part(each)) is not None)
        return AnyOf(parts) if parts else None
    if isinstance(condition, AllOf):
        whole = all(tree_part(each) is not None for each in condition.parts)
        return condition if whole else None
    return condition if condition.scope == "tree" else None


def _own(condition: Condition) -> Iterator[Share]:
    for leaf in condition.leaves():
        if isinstance(leaf, Reservable) and leaf.reserving:
            yield Share(leaf, leaf.limit)


def _shared(state: RunState, shares: Sequence[Share]) -> Iterator[Share]:
    """A share as a limit: on top of what an earlier process has spent on this run."""
    for budget, amount in shares:
        yield Share(budget, budget.measure(state) + amount)


def _even(left: Any, count: int) -> Any:
    if isinstance(left, Decimal):
        return max(Decimal(0), (left / count).quantize(GRAIN, ROUND_FLOOR))
    return max(0, left // count)
