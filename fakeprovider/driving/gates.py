"""What a run comes to, counted as it happens; and gates, the limits and demands it is held to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Lock

from fakeprovider.errors import ApiError, counted
from fakeprovider.journal import Exchange
from fakeprovider.serving.request_context import RequestContext
from fakeprovider.verdict import ANY, ClauseResult, failing

SCRIPT_ERRORS = frozenset(
    {"expectation_failed", "recording_drifted", "script_failed", "script_ran_out"}
)
"""Codes of the errors that are the script's word on the request, not the service's."""


@dataclass
class RunTotals:
    """Running totals of a run.

    requests: everything that came in. turns: answers of the script, those to side requests and
    to repeated requests that had failed counted apart. retries: requests that repeat one that
    failed or was broken off, by their own word or by their body. Tokens as they were reported.
    script_errors: requests that the script had no reply to, in words.
    """

    requests: int = 0
    turns: int = 0
    side_requests: int = 0
    retries: int = 0
    errors: int = 0
    cancelled: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    violations: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    script_errors: list[str] = field(default_factory=list)
    _failed: set[str] = field(default_factory=set, repr=False)

    @property
    def tokens(self) -> int:
        """Input and output."""
        return self.input_tokens + self.output_tokens

    def add(self, exchange: Exchange) -> None:
        """Count one more exchange."""
        self.requests += 1
        self.retries += exchange.attempt > 0 or exchange.digest in self._failed
        failed = exchange.broken or exchange.status >= 400 or exchange.cancelled
        if failed and exchange.digest:  # what was refused unread has none, and is like no other
            self._failed.add(exchange.digest)
        else:
            self._failed.discard(exchange.digest)
        self.errors += exchange.status >= 400
        self.cancelled += exchange.cancelled
        if exchange.usage is not None and not failed:
            self.input_tokens += exchange.usage.prompt_tokens
            self.output_tokens += exchange.usage.completion_tokens
        rules = [note.rule for note in exchange.notes]
        aside = "side_request" in rules
        self.side_requests += aside
        self.turns += bool(exchange.finish) and not failed and not aside
        self.violations += [
            f"exchange {exchange.number}, message {violation.index}: "
            f"{violation.detail} ({violation.rule})"
            for violation in exchange.violations
        ]
        self.replaced += [
            f"exchange {exchange.number}: {note.detail}"
            for note in exchange.notes
            if note.rule in ("call_replaced", "call_dropped", "plain_answer")
        ]
        if exchange.code in SCRIPT_ERRORS:
            self.script_errors.append(
                f"exchange {exchange.number}: {exchange.error} ({exchange.code})"
            )


@dataclass(frozen=True, slots=True)
class Gates:
    """What a run is held to; None demands nothing, 0 is a limit like any other.

    max_requests and max_tokens end the run when they are passed. expect_turns are the least and
    the most turns it may take. fail_on are clauses of the verdict that must not fail, and that
    must be observable where they are named; `any` names none. Unless allow_script_errors, the
    script must have had a reply to every request.
    """

    max_requests: int | None = None
    max_tokens: int | None = None
    no_violations: bool = False
    expect_turns: tuple[int, int] | None = None
    fail_on: tuple[str, ...] = ()
    allow_script_errors: bool = False

    def failures(self, totals: RunTotals, verdict: Sequence[ClauseResult] = ()) -> list[str]:
        """What a finished run was not held to: what was demanded, and what it was."""
        return [*self._passed_limits(totals), *self._unmet(totals), *self._failing(verdict)]

    def _passed_limits(self, totals: RunTotals) -> Iterator[str]:
        if self.max_requests is not None and totals.requests > self.max_requests:
            yield f"more than {counted(self.max_requests, 'request')} (--max-requests)"
        if self.max_tokens is not None and totals.tokens > self.max_tokens:
            yield f"{totals.tokens} tokens, at most {self.max_tokens} (--max-tokens)"

    def _unmet(self, totals: RunTotals) -> Iterator[str]:
        """The demands on a whole run: violations, turns, script errors."""
        if self.no_violations and totals.violations:
            yield f"{counted(len(totals.violations), 'violation')} (--no-violations)"
        if self.expect_turns is not None:
            least, most = self.expect_turns
            if not least <= totals.turns <= most:
                expected = f"{least}" if least == most else f"{least} to {most}"
                yield f"{counted(totals.turns, 'turn')}, expected {expected} (--expect-turns)"
        if totals.script_errors and not self.allow_script_errors:
            errors = counted(len(totals.script_errors), "script error")
            yield (
                f"{errors} (--allow-script-errors lets them pass); "
                f"the first: {totals.script_errors[0]}"
            )

    def _failing(self, verdict: Sequence[ClauseResult]) -> Iterator[str]:
        """The clauses of fail_on that failed, and those named that could not be observed."""
        if self.fail_on:
            for result in failing(verdict, self.fail_on):
                yield f"{result.clause}: {result.detail} (--fail-on)"
        for result in self._unseen(verdict):
            yield f"{result.clause}: {result.result}, {result.detail} (--fail-on)"

    def undecided(self, verdict: Sequence[ClauseResult]) -> list[ClauseResult]:
        """The clauses of fail_on that the run did not decide, and that are let pass."""
        unseen = self._unseen(verdict)
        return [
            result
            for result in verdict
            if (ANY in self.fail_on or result.clause in self.fail_on)
            and result.result not in ("pass", "fail")
            and result not in unseen
        ]

    def _unseen(self, verdict: Sequence[ClauseResult]) -> list[ClauseResult]:
        """The clauses that fail_on names and the run does not show."""
        return [
            result
            for result in verdict
            if result.clause in self.fail_on and result.result == "not observable"
        ]


class Guard:
    """Counts a run's exchanges and, once a limit is passed, refuses more and calls `stop`.

    `admit` and `add` are called by the provider, from its thread.
    """

    def __init__(self, gates: Gates, stop: Callable[[str], None]) -> None:
        self.gates = gates
        self.totals = RunTotals()
        self._stop = stop
        self._admitted = 0
        self._lock = Lock()

    def admit(self, context: RequestContext) -> None:
        """Let a request in; raises `ApiError`, which no SDK retries, when there were enough."""
        with self._lock:
            self._admitted += 1
            reason = self._reason()
        if reason:
            self._stop(reason)
            raise ApiError(
                400,
                f"This run has had {reason}; it is being ended.",
                code="run_ended",
                retry=False,
            )

    def add(self, exchange: Exchange) -> None:
        """Count a finished exchange."""
        with self._lock:
            self.totals.add(exchange)

    def _reason(self) -> str:
        limit, tokens = self.gates.max_requests, self.gates.max_tokens
        if limit is not None and self._admitted > limit:
            return f"its {counted(limit, 'request')} (--max-requests)"
        if tokens is not None and self.totals.tokens > tokens:
            return f"{self.totals.tokens} tokens, more than {tokens} (--max-tokens)"
        return ""
