"""What a run comes to, counted from its exchanges as they happen."""

from __future__ import annotations

from dataclasses import dataclass, field

from fakeprovider.journal import Exchange

SCRIPT_ERRORS = frozenset(
    {"expectation_failed", "recording_drifted", "script_failed", "script_ran_out"}
)
"""Codes of the errors that are the script's word on the request, not the service's."""


@dataclass
class Tally:
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
            f"exchange {exchange.number}, message {one.index}: {one.detail} ({one.rule})"
            for one in exchange.violations
        ]
        self.replaced += [
            f"exchange {exchange.number}: {note.detail}"
            for note in exchange.notes
            if note.rule in ("call_replaced", "call_dropped", "plain_answer")
        ]
        if exchange.code in SCRIPT_ERRORS:
            told = f"exchange {exchange.number}: {exchange.error} ({exchange.code})"
            self.script_errors.append(told)
