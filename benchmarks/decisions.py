"""Decisions on interrupted calls, as a person would make them."""

from __future__ import annotations

import warnings

from harness import RunState, UnsafeRejection, approve, reject


def approve_all(state: RunState) -> None:
    """Approve every call that waits."""
    for waiting in state.interruptions:
        approve(state, waiting.call_id)


def reject_with_reason(state: RunState) -> None:
    """Reject every call that waits, and say why."""
    for waiting in state.interruptions:
        reject(state, waiting.call_id, "the user wants to keep this file")


def reject_with_nothing(state: RunState) -> None:
    """Reject with an empty text: the model is not told, and its report becomes a lie."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnsafeRejection)
        for waiting in state.interruptions:
            reject(state, waiting.call_id, rejection_text="")


class ApproveOnce:
    """Approve the first call of each tool and arguments, and reject its repetitions."""

    def __init__(self) -> None:
        self._seen: set[tuple[str, str]] = set()

    def __call__(self, state: RunState) -> None:
        for waiting in state.interruptions:
            key = (waiting.tool, str(sorted(waiting.args.items())))
            if key in self._seen:
                reject(state, waiting.call_id, "this was approved and done before")
            else:
                self._seen.add(key)
                approve(state, waiting.call_id)
