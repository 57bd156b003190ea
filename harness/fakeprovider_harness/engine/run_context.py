"""What the steps of a run share, from one start or resume to the next stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal

from fakeprovider_harness.budget import charging
from fakeprovider_harness.budget.budget_tree import Account, Branch
from fakeprovider_harness.budget.charging import Pricing
from fakeprovider_harness.cancel import Cancel
from fakeprovider_harness.clock import Clock
from fakeprovider_harness.conditions import EmptyReplies, TruncatedReplies
from fakeprovider_harness.context.policy import ContextPolicy
from fakeprovider_harness.engine import transcript
from fakeprovider_harness.engine.transcript import Outgoing, handed_over
from fakeprovider_harness.models.base import Model, Usage
from fakeprovider_harness.models.retry import RetryingModel
from fakeprovider_harness.outcomes import Status, Stop, StopKind
from fakeprovider_harness.persistence.storage import Storage
from fakeprovider_harness.settings import Settings
from fakeprovider_harness.state import LostRequest, PendingCall, Purpose, RunState, SideRequest
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
from fakeprovider_harness.verify.verifier import Verifier


@dataclass
class RunContext:
    """What the loop's steps share; it owns the clock readings, the trace and the saving."""

    state: RunState
    model: Model
    toolbox: Toolbox
    condition: Condition
    pricing: Pricing
    trace: Trace
    store: Storage
    cancel: Cancel
    settings: Settings
    clock: Clock
    on_text: Callable[[str], None] | None
    verifier: Verifier | None = None
    context: ContextPolicy | None = None
    overflowed: bool = False  # the last request was refused as too long
    outgoing: Outgoing = field(init=False)
    branch: Branch | None = None
    account: Account = field(init=False)
    overrun: int = field(init=False, default=0)
    paused: float = field(init=False, default=0.0)
    cache: ResultCache = field(init=False)
    taken: set[str] = field(init=False)
    _began: float = field(init=False)
    _elapsed: float = field(init=False)
    _active: float = field(init=False)
    _waited: float = field(init=False)
    _pausing: float | None = field(init=False, default=None)
    _before: tuple[int, Decimal] = field(init=False)

    def __post_init__(self) -> None:
        self._check()
        self.account = Account(
            self.state, self.condition, self.settings, self.tick, self.branch, self.save
        )
        self.outgoing = Outgoing(self.settings.max_result)
        self.cache = ResultCache(self.settings.dedupe, self.toolbox)
        self.cache.replay(self.state.messages)
        self.taken = transcript.call_ids(self.state.messages)

    def _check(self) -> None:
        """Refuse what is no price, and two layers of retries."""
        charging.refuse_no_price(self.pricing)
        if self.settings.retry is not None and isinstance(self.model, RetryingModel):
            raise ValueError("the model retries already: two layers of retries multiply")

    def refuse_unpriced(self) -> None:
        """Raise `UnknownPrice` where a budget, of the run or of an agent below it, has no price."""
        budget = any(leaf.needs_price for leaf in self.condition.leaves())
        if budget:
            charging.refuse_unpriced(self.pricing, self.model.name)
        self.toolbox.check_price(self.pricing, budget)

    def begin(self) -> None:
        """Start the clocks, and save: from here on a stale snapshot is refused."""
        times, now = self.state.times, self.clock.time()
        waited = max(0.0, now - times.left)
        if self.state.legs == 0:
            times.started, waited = now, 0.0
        self._began = self.clock.monotonic()
        self._elapsed = max(times.elapsed, now - times.started)
        self._active, self._waited = times.active, times.waited
        self._before = len(self.state.turns), self.state.cost_usd
        self.state.legs += 1
        if self.state.status is not Status.RUNNING:
            self.state.reopen()
        self.save()
        if self.state.legs > 1:
            self.emit(RunResumed(self.state.run_id, self.state.legs, waited))

    def tick(self) -> None:
        """Read the clocks into the state."""
        now, times = self.clock.monotonic(), self.state.times
        passed = now - self._began
        paused = self.paused + (0.0 if self._pausing is None else now - self._pausing)
        times.elapsed = self._elapsed + passed
        times.active = self._active + passed - paused
        times.waited = self._waited + paused
        times.left = self.clock.time()

    @contextmanager
    def pausing(self) -> Iterator[None]:
        """Count what passes inside as waiting, not as work."""
        self._pausing = self.clock.monotonic()
        try:
            yield
        finally:
            self.waited(self.clock.monotonic() - self._pausing)
            self._pausing = None

    def waited(self, seconds: float) -> None:
        """Take note of a pause that is over."""
        self.paused += seconds

    def time_left(self) -> float | None:
        """Seconds until a limit of time ends this run or one above it; None without one."""
        self.tick()
        times = (self.condition.time_left(self.state), self.account.time_left())
        return min((left for left in times if left is not None), default=None)

    def save(self, *, durable: bool = False) -> None:
        """Keep the state as it is now."""
        self.tick()
        self.store.save(self.state, durable=durable)

    def emit(self, event: Event) -> None:
        """Tell the trace."""
        self.trace(event)

    def finish(self, call: PendingCall, ms: float = 0.0) -> None:
        """Report the result of a call and move what is next in order to the transcript."""
        result = call.result
        if result is not None and not call.reported:
            call.reported = True
            ok = result.outcome == "ok"
            self.emit(
                ToolEnd(
                    self.state.run_id,
                    call.call.name,
                    round(ms, 3),
                    ok,
                    result.outcome,
                    call.call.id,
                    result.cached,
                )
            )
        transcript.flush(self.state)

    def charge(self, usage: Usage, model: str | None) -> Decimal | None:
        """Add a request to the totals; returns its cost in USD, None without a price."""
        cost = self.cost_of(usage, model)
        self.state.charge(usage, cost)
        self.account.charged()
        return cost

    def cost_of(self, usage: Usage, model: str | None) -> Decimal | None:
        """USD of a request by the model that answered it; None without a price."""
        return charging.cost_of(self.pricing, model or self.model.name, usage)

    def charge_beside(self, purpose: Purpose, usage: Usage, cost: Decimal | None) -> None:
        """Add a request beside the conversation to the totals, at a cost in USD of its own."""
        turn = len(self.state.turns)
        self.state.charge(usage, cost)
        self.account.charged()
        self.state.beside.append(SideRequest(turn, purpose, usage, cost))
        self.emit(
            Beside(
                self.state.run_id,
                turn,
                purpose,
                usage.prompt_tokens,
                usage.completion_tokens,
                cost,
            )
        )

    def lose(self, usage: Usage, why: str) -> None:
        """Charge a request that brought no reply to keep."""
        turn = len(self.state.turns) + 1
        cost = self.charge(usage, None)
        self.state.lost.append(LostRequest(turn, usage, cost, why))
        self.emit(
            RequestLost(
                self.state.run_id, turn, usage.prompt_tokens, usage.completion_tokens, cost, why
            )
        )

    @property
    def known_cost(self) -> Decimal | None:
        """The run's cost so far in USD; None where a price was missing."""
        return None if self.state.unpriced else self.state.cost_usd

    def end(self, stop: Stop) -> None:
        """Record the stop, answer in words what must not stay open, save, say so."""
        stop = handed_over(stop, self.state)
        self.state.end(stop)
        if stop.kind is StopKind.CANCELLED or stop.status is Status.FAILED:
            self._answer_all(stop)
        self.state.answer = self.state.claim or ""
        self.save()
        for call in self.state.pending:
            if call.phase == "awaiting" and stop.kind is StopKind.APPROVAL:
                name, args = call.call.name, call.call.arguments
                self.emit(ApprovalRequired(self.state.run_id, name, args, call.call.id))
        self.emit(
            RunStopped(
                self.state.run_id,
                stop.status,
                stop.reason,
                len(self.state.turns),
                self.known_cost,
                self.state.legs,
                len(self.state.turns) - self._before[0],
                None if self.known_cost is None else self.known_cost - self._before[1],
                str(stop.evidence.get("error", "")),
            )
        )

    def _answer_all(self, stop: Stop) -> None:
        for call in transcript.answer_open(self.state, stop):
            self.finish(call)


def guarded(stop: Condition | None, settings: Settings) -> Condition:
    """The caller's condition, and what ends a run of replies that say nothing, unless it does.

    Raises `TypeError` for what is no condition.
    """
    own: Condition = AnyOf(()) if stop is None else stop | AnyOf(())
    refuse_uncallable(own)
    for default in (
        EmptyReplies(settings.empty_replies),
        TruncatedReplies(settings.truncated_replies),
    ):
        if not any(isinstance(leaf, type(default)) for leaf in own.leaves()):
            own |= default
    return own


class Pauses:
    """A clock that tells the run how long it was slept on."""

    def __init__(self, run: RunContext) -> None:
        self._run = run

    def time(self) -> float:
        return self._run.clock.time()

    def monotonic(self) -> float:
        return self._run.clock.monotonic()

    async def sleep(self, seconds: float) -> None:
        with self._run.pausing():
            await self._run.clock.sleep(seconds)

    async def reach(self, moment: float) -> None:
        await self._run.clock.reach(moment)
