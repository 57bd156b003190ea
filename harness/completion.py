"""Whether the last reply ends the run by itself."""

from __future__ import annotations

from collections.abc import Iterator

from harness.state import RunState
from harness.ways_out import Stop, StopKind

NEVER = {
    "content_filter": StopKind.PROVIDER_ERROR,
    "refusal": StopKind.PROVIDER_ERROR,
    "context_window": StopKind.CONTEXT_WINDOW,
}
"""Finish reasons that end a run without completing it."""

GOES_ON = ("length", "pause")
"""Finish reasons of a reply that is to be continued."""


def completion(state: RunState) -> Iterator[Stop]:
    """The stop that the last reply leads to: an answer, a refusal, a full context; else none.

    Calls decide, whatever the finish reason says: a reply with calls is no answer.
    """
    if not state.turns or state.messages[-1].role != "assistant" or state.messages[-1].calls:
        return
    turn = state.turns[-1]
    if turn.finish in NEVER:
        yield Stop(NEVER[turn.finish], evidence={"error": f"the reply ended with {turn.finish}"})
    elif turn.finish not in GOES_ON and not turn.empty:
        yield Stop(StopKind.ANSWERED)
