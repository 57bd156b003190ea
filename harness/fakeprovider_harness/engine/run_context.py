"""What the steps of a run share, from one start or resume to the next stop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal

from fakeprovider_harness.budget import charging
from fakeprovider_harness.budget.budget_tree import Account
from fakeprovider_harness.budget.charging import Pricing
from fakeprovider_harness.cancel import Cancel
from fakeprovider_harness.clock import RunClock, SystemClock
from fakeprovider_harness.conditions import EmptyReplies, TruncatedReplies
from fakeprovider_harness.engine import transcript
from fakeprovider_harness.engine.run_arguments import RunArguments
from fakeprovider_harness.models.base import Usage
from fakeprovider_harness.models.retry import RetryingModel
from fakeprovider_harness.outcomes import Status, Stop, StopKind
from fakeprovider_harness.settings import Settings
from fakeprovider_harness.state import (
    LostRequest,
    NoStore,
    PendingCall,
    Purpose,
    RunState,
    SideRequest,
    Storage,
)
from fakeprovider_harness.stop import AnyOf, Condition, refuse_uncallable
from fakeprovider_harness.tooling.result_cache import ResultCache
from fakeprovider_harness.tooling.toolbox import Toolbox
from fakeprovider_harness.trace import (
    ApprovalRequired,
    Beside,
    Event,
    RequestLost,
    RunResumed,
    RunStopped,
    ToolEnd,
    Trace,
)


class Journal:
    """Where a run is told and kept: its trace and its store."""

    def __init__(
        self, state: RunState, trace: Trace | None, store: Storage, clock: RunClock
    ) -> None:
        self.trace, self.store = trace, store
        self._state, self._clock = state, clock

    def emit(self, event: Event) -> None:
        """Tell the trace."""
        if self.trace is not None:
            self.trace(event)

    def save(self, *, durable: bool = False) -> None:
        """Keep the state as it is now."""
        self._clock.tick()
        self.store.save(self._state, durable=durable)

    def finish(self, call: PendingCall, ms: float = 0.0) -> None:
        """Report the result of a call and move what is next in order to the transcript."""
        result = call.result
        if result is not None and not call.reported:
            call.reported = True
            self.emit(
                ToolEnd(
                    self._state.run_id,
                    call.call.name,
                    round(ms, 3),
                    result.outcome == "ok",
                    result.outcome,
                    call.call.id,
                    result.cached,
                )
            )
        transcript.flush(self._state)


class Ledger:
    """What a run is charged: its prices, its account in the tree, and the requests it has paid."""

    def __init__(
        self, state: RunState, model: str, pricing: Pricing, account: Account, journal: Journal
    ) -> None:
        charging.refuse_no_price(pricing)
        self.pricing, self.account = pricing, account
        self.overrun = 0  # tokens of the last reply beyond what its request allowed
        self._state, self._model, self._journal = state, model, journal

    @property
    def known_cost(self) -> Decimal | None:
        """The run's cost so far in USD; None where a price was missing."""
        return None if self._state.unpriced else self._state.cost_usd

    def cost_of(self, usage: Usage, model: str | None) -> Decimal | None:
        """USD of a request by the model that answered it; None without a price."""
        return charging.cost_of(self.pricing, model or self._model, usage)

    def charge(self, usage: Usage, cost: Decimal | None) -> None:
        """Add a request to the totals, at its cost in USD; None without a price."""
        self._state.charge(usage, cost)
        self.account.charged()

    def charge_side(self, purpose: Purpose, usage: Usage, cost: Decimal | None) -> None:
        """Add a request beside the conversation to the totals, at a cost in USD of its own."""
        state = self._state
        turn = len(state.turns)
        self.charge(usage, cost)
        state.beside.append(SideRequest(turn, purpose, usage, cost))
        tokens = usage.prompt_tokens, usage.completion_tokens
        self._journal.emit(Beside(state.run_id, turn, purpose, *tokens, cost))

    def charge_lost(self, usage: Usage, why: str) -> None:
        """Charge a request that brought no reply to keep."""
        state = self._state
        turn, cost = len(state.turns) + 1, self.cost_of(usage, None)
        self.charge(usage, cost)
        state.lost.append(LostRequest(turn, usage, cost, why))
        tokens = usage.prompt_tokens, usage.completion_tokens
        self._journal.emit(RequestLost(state.run_id, turn, *tokens, cost, why))


class RunContext:
    """A run on its way: its state, what it was given, and the owner of each thing that moves.

    Raises as `arun` does for what cannot be run.
    """

    def __init__(self, arguments: RunArguments) -> None:
        state = self.state = arguments.state
        self.model, self.on_text = arguments.model, arguments.on_text
        self.verifier, self.context = arguments.verify, arguments.context
        self.settings = arguments.settings or Settings()
        self.cancel = arguments.cancel or Cancel()
        own_tools = self.context.tools(state) if self.context else ()
        self.toolbox = Toolbox(arguments.tools, own_tools)
        self.condition = guarded(arguments.stop, self.settings)
        if self.settings.retry is not None and isinstance(self.model, RetryingModel):
            raise ValueError("the model retries already: two layers of retries multiply")
        self.clock = RunClock(state.times, arguments.clock or SystemClock())
        self.journal = Journal(state, arguments.trace, arguments.store or NoStore(), self.clock)
        self.account = Account(
            state,
            self.condition,
            self.settings,
            self.clock.tick,
            arguments.branch,
            self.journal.save,
        )
        self.ledger = Ledger(state, self.model.name, arguments.price, self.account, self.journal)
        self.outgoing = transcript.Outgoing(self.settings.max_result)
        self.overflowed = False  # the last request was refused as too long
        self.cache = ResultCache(self.settings.dedupe, self.toolbox)
        self.cache.replay(state.messages)
        self.call_ids = transcript.call_ids(state.messages)
        self._refuse_unpriced()

    def _refuse_unpriced(self) -> None:
        """Raise `UnknownPrice` where a budget, of the run or of an agent below it, has no price."""
        budget = any(leaf.needs_price for leaf in self.condition.leaves())
        if budget:
            charging.refuse_unpriced(self.ledger.pricing, self.model.name)
        self.toolbox.check_price(self.ledger.pricing, budget)

    def begin(self) -> None:
        """Start the clocks, and save: from here on a stale snapshot is refused."""
        state = self.state
        away = self.clock.begin(first=state.legs == 0)
        self._before = len(state.turns), state.cost_usd
        state.legs += 1
        if state.status is not Status.RUNNING:
            state.reopen()
        self.journal.save()
        if state.legs > 1:
            self.journal.emit(RunResumed(state.run_id, state.legs, away))

    def time_left(self) -> float | None:
        """Seconds until a limit of time ends this run or one above it; None without one."""
        self.clock.tick()
        times = (self.condition.time_left(self.state), self.account.time_left())
        return min((left for left in times if left is not None), default=None)

    @asynccontextmanager
    async def request_signal(self) -> AsyncIterator[Cancel]:
        """A signal that ends what is done inside when the run is cancelled or its time is up."""
        signal = self.cancel.child()
        timer = None
        if self.time_left() is not None:
            timer = asyncio.ensure_future(self._set_in_time(signal))
        try:
            yield signal
        finally:
            signal.close()
            if timer is not None:
                timer.cancel()

    async def _set_in_time(self, signal: Cancel) -> None:
        """Set the signal when the run's time is up; a pause may move that moment."""
        while (left := self.time_left()) is not None and left > 0:
            await self.clock.reach(self.clock.monotonic() + left)
        signal.set("the time of the run is up")

    def end(self, stop: Stop) -> None:
        """Record the stop, answer in words what must not stay open, save, say so."""
        state, journal = self.state, self.journal
        stop = transcript.handed_over(stop, state)
        state.end(stop)
        if stop.kind is StopKind.CANCELLED or stop.status is Status.FAILED:
            for call in transcript.answer_open(state, stop):
                journal.finish(call)
        state.answer = state.claim or ""
        journal.save()
        for call in state.pending:
            if call.phase == "awaiting" and stop.kind is StopKind.APPROVAL:
                name, args = call.call.name, call.call.arguments
                journal.emit(ApprovalRequired(state.run_id, name, args, call.call.id))
        journal.emit(self._stopped(stop))

    def _stopped(self, stop: Stop) -> RunStopped:
        """The event of the stop, with what the run has used since it was last started."""
        state, cost = self.state, self.ledger.known_cost
        turns_before, cost_before = self._before
        return RunStopped(
            state.run_id,
            stop.status,
            stop.reason,
            len(state.turns),
            cost,
            state.legs,
            len(state.turns) - turns_before,
            None if cost is None else cost - cost_before,
            str(stop.evidence.get("error", "")),
        )


def guarded(stop: Condition | None, settings: Settings) -> Condition:
    """The caller's condition, and what ends a run of replies that say nothing, unless it does.

    Raises `TypeError` for what is no condition.
    """
    condition: Condition = AnyOf(()) if stop is None else stop | AnyOf(())
    refuse_uncallable(condition)
    for default in (
        EmptyReplies(settings.empty_replies),
        TruncatedReplies(settings.truncated_replies),
    ):
        if not any(isinstance(leaf, type(default)) for leaf in condition.leaves()):
            condition |= default
    return condition
