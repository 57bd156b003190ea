"""Gates of a run: limits that end it, and demands on how it went."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock

from fakeprovider.driving.run_totals import Tally
from fakeprovider.errors import ApiError, counted
from fakeprovider.journal import Exchange
from fakeprovider.serving.request_context import Job
from fakeprovider.verdict import ANY, ClauseResult, failing


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

    def failures(self, tally: Tally, verdict: Sequence[ClauseResult] = ()) -> list[str]:
        """What a finished run was not held to: what was demanded, and what it was."""
        found = []
        if self.max_requests is not None and tally.requests > self.max_requests:
            found.append(f"more than {counted(self.max_requests, 'request')} (--max-requests)")
        if self.max_tokens is not None and tally.tokens > self.max_tokens:
            found.append(f"{tally.tokens} tokens, at most {self.max_tokens} (--max-tokens)")
        if self.no_violations and tally.violations:
            found.append(f"{counted(len(tally.violations), 'violation')} (--no-violations)")
        if self.expect_turns is not None:
            least, most = self.expect_turns
            if not least <= tally.turns <= most:
                told = f"{least}" if least == most else f"{least} to {most}"
                found.append(f"{counted(tally.turns, 'turn')}, expected {told} (--expect-turns)")
        if tally.script_errors and not self.allow_script_errors:
            errors = counted(len(tally.script_errors), "script error")
            found.append(
                f"{errors} (--allow-script-errors lets them pass); "
                f"the first: {tally.script_errors[0]}"
            )
        if self.fail_on:
            found += [
                f"{one.clause}: {one.detail} (--fail-on)" for one in failing(verdict, self.fail_on)
            ]
        found += [
            f"{one.clause}: {one.result}, {one.detail} (--fail-on)" for one in self._unseen(verdict)
        ]
        return found

    def undecided(self, verdict: Sequence[ClauseResult]) -> list[ClauseResult]:
        """The clauses of fail_on that the run did not decide, and that are let pass."""
        asked = [one for one in verdict if ANY in self.fail_on or one.clause in self.fail_on]
        unseen = self._unseen(verdict)
        return [one for one in asked if one.result not in ("pass", "fail") and one not in unseen]

    def _unseen(self, verdict: Sequence[ClauseResult]) -> list[ClauseResult]:
        return [
            one for one in verdict if one.clause in self.fail_on and one.result == "not observable"
        ]


class Guard:
    """Counts a run's exchanges and, once a limit is passed, refuses more and calls `stop`.

    `admit` and `add` are called by the provider, from its thread.
    """

    def __init__(self, gates: Gates, stop: Callable[[str], None]) -> None:
        self.gates = gates
        self.tally = Tally()
        self._stop = stop
        self._admitted = 0
        self._lock = Lock()

    def admit(self, job: Job) -> None:
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
            self.tally.add(exchange)

    def _reason(self) -> str:
        limit, tokens = self.gates.max_requests, self.gates.max_tokens
        if limit is not None and self._admitted > limit:
            return f"its {counted(limit, 'request')} (--max-requests)"
        if tokens is not None and self.tally.tokens > tokens:
            return f"{self.tally.tokens} tokens, more than {tokens} (--max-tokens)"
        return ""
