"""Verifiers: the claim that they are given, the verdict that they return."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol

import msgspec

from fakeprovider_harness.budget.charging import Pricing
from fakeprovider_harness.cancel import Cancel
from fakeprovider_harness.models.base import Message, Model, ModelReply, Usage
from fakeprovider_harness.models.wire import mend, mend_tree
from fakeprovider_harness.state import RunState, VerdictKind
from fakeprovider_harness.tooling.execution import Ended, execute


class Verdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """The outcome of one check.

    `pass`: the work is done. `fail`: it is not, and `feedback` goes to the model. `stale`: the
    check passes, but on evidence that the run itself has tampered with: a person has to look.
    `error`: the check could not be made, which is not the model's fault. `unreachable`: it can
    never pass. `evidence` is for a person; a number that should fall goes there as `measure`.
    """

    kind: VerdictKind
    feedback: str = ""
    evidence: dict[str, Any] = {}


def passed(**evidence: Any) -> Verdict:
    """The work is done."""
    return Verdict("pass", evidence=evidence)


def failed(feedback: str, **evidence: Any) -> Verdict:
    """The work is not done; `feedback` says what is missing, to the model."""
    return Verdict("fail", feedback, evidence)


def stale(why: str, **evidence: Any) -> Verdict:
    """The check passes, but what it looks at was changed by the run."""
    return Verdict("stale", why, evidence)


def broken(why: str, **evidence: Any) -> Verdict:
    """The check could not be made."""
    return Verdict("error", why, evidence)


def unreachable(why: str, **evidence: Any) -> Verdict:
    """The goal cannot be reached."""
    return Verdict("unreachable", why, evidence)


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


async def asked(
    verifier: Verifier, claim: Claim, *, timeout: float | None = None, grace: float = 0.15
) -> Verdict:
    """The verdict on a claim: `error` where the verifier raises, breaks off or gives none.

    `timeout` in seconds; the verifier then has `grace` seconds to return.
    """
    execution = await execute(
        verifier,
        {"claim": claim},
        cancel=claim.cancel,
        timeout=timeout,
        grace=grace,
        heeds=True,
        on_late=lambda ended: None,
    )
    if execution.told is not None:
        return broken(f"the check {execution.told}")
    return _verdict_of(execution.ended or Ended())


def _verdict_of(ended: Ended) -> Verdict:
    error = ended.error
    if error is None:
        try:
            return _storable(verdict_of(ended.value))
        except TypeError as mistake:
            error = mistake
    return broken(mend(f"{type(error).__name__}: {error}"))


def _storable(verdict: Verdict) -> Verdict:
    """As plain data, such as a transcript and a store can hold; raises `TypeError`."""
    evidence = mend_tree(msgspec.to_builtins(verdict.evidence))
    return msgspec.structs.replace(verdict, feedback=mend(verdict.feedback), evidence=evidence)
