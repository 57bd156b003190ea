"""What a verifier says of a claim to be done."""

from __future__ import annotations

from typing import Any

import msgspec

from harness.state import VerdictKind


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
