"""What the loop needs of a verifier, and what a verifier may look at."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol

from harness.cancel import Cancel
from harness.charging import Pricing
from harness.models.base import Message, Model, ModelReply, Usage
from harness.state import RunState
from harness.verify.verdict import Verdict, failed, passed

Answer = Verdict | bool
"""What a verifier returns: a verdict; True is `pass`, False is `fail` without words of its own."""

UNSAID = "the check did not pass."

Ask = Callable[[Sequence[Message], Model, Pricing, int | None], Awaitable[ModelReply | None]]
"""Sends a prompt to a model at a price of its own; the last is the most output, in tokens."""


@dataclass(frozen=True)
class Claim:
    """A reply that says that the work is done, and what a verifier may use to judge it.

    `state` is to be read, not changed. `cancel` is set when the run is cancelled or the check takes
    too long. `ask` sends a request of the verifier's own through the run, which admits, retries and
    charges it; None where no reply came. `charge` adds what was spent otherwise: usage, and cost
    in USD or None where the price is not known. `last_write` is the place in the transcript of the
    last result of a tool with effects, -1 if there is none.
    """

    answer: str
    state: RunState
    cancel: Cancel
    ask: Ask
    charge: Callable[[Usage, Decimal | None], None]
    last_write: int = -1


class Verifier(Protocol):
    """Judges a claim; sync (run in a thread) or async. What it raises counts as `error`."""

    def __call__(self, claim: Claim) -> Answer | Awaitable[Answer]: ...


def verdict_of(answer: object) -> Verdict:
    """The verdict that an answer stands for; raises `TypeError` for anything else."""
    if isinstance(answer, Verdict):
        return answer
    if isinstance(answer, bool):
        return passed() if answer else failed(UNSAID)
    raise TypeError(f"a verifier returns a Verdict or a bool, not {type(answer).__name__}")
