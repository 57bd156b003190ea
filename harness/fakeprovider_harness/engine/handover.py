"""What a person needs who takes over a run that came to nothing."""

from __future__ import annotations

from typing import Any

import msgspec

from fakeprovider_harness.models.base import Call
from fakeprovider_harness.outcomes import Status, Stop
from fakeprovider_harness.state import RunState

CALLS = 5
"""Calls that are shown, the last ones."""

CLIP = 200
"""Characters of arguments and of results that are shown."""


def handed_over(stop: Stop, state: RunState) -> Stop:
    """The stop with the last calls as evidence, if it is one for lack of progress."""
    if stop.status is not Status.NO_PROGRESS:
        return stop
    evidence = {**stop.evidence, "last_calls": last_calls(state)}
    return msgspec.structs.replace(stop, evidence=evidence)


def last_calls(state: RunState) -> list[dict[str, Any]]:
    """The last calls with their results, the first one first."""
    found: list[dict[str, Any]] = []
    wanted: dict[str, dict[str, Any]] = {}
    for message in reversed(state.messages):
        if message.role == "tool" and message.call_id and len(found) < CALLS:
            shown = {"outcome": message.outcome, "result": (message.content or "")[:CLIP]}
            wanted[message.call_id] = shown
            found.append(shown)
        for call in message.calls:
            if call.id in wanted:
                wanted.pop(call.id).update(_asked(call))
        if len(found) == CALLS and not wanted:
            break
    return found[::-1]


def _asked(call: Call) -> dict[str, Any]:
    return {"tool": call.name, "args": call.arguments[:CLIP]}
