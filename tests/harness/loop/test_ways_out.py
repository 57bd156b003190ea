"""The table of ways out: complete, and in order of weight."""

from __future__ import annotations

from itertools import permutations

from fakeprovider_harness import WAYS_OUT, Status, Stop, StopKind
from fakeprovider_harness.outcomes import STATUS_OF, resumable, weightiest


def test_every_kind_leads_to_exactly_one_status() -> None:
    listed = [kind for way in WAYS_OUT.values() for kind in way.kinds]
    assert sorted(listed) == sorted(StopKind)
    assert set(WAYS_OUT) == set(Status) - {Status.RUNNING}
    assert set(STATUS_OF) == set(StopKind)


def test_only_completed_and_failed_runs_cannot_be_resumed() -> None:
    final = {status for status in Status if not resumable(status)}
    assert final == {Status.COMPLETED, Status.FAILED}


def test_the_weightiest_stop_wins_and_names_the_others() -> None:
    order = [
        StopKind.CANCELLED,
        StopKind.FATAL_TOOL_ERROR,
        StopKind.ANSWERED,
        StopKind.APPROVAL,
        StopKind.MAX_TURNS,
        StopKind.REPEATED_CALLS,
    ]
    for kinds in permutations(order, 3):
        first = weightiest([Stop(kind) for kind in kinds])
        assert first is not None
        assert first.kind is min(kinds, key=order.index)
        assert {stop.kind for stop in first.also} == set(kinds) - {first.kind}
    assert weightiest([]) is None


def test_hard_limits_are_of_one_weight_and_the_first_written_leads() -> None:
    stops = [Stop(StopKind.DEADLINE), Stop(StopKind.MAX_TURNS), Stop(StopKind.MAX_COST)]
    first = weightiest(stops)
    assert first is not None
    assert first.kind is StopKind.DEADLINE


def test_a_stop_says_itself_in_words() -> None:
    stop = Stop(StopKind.MAX_TURNS, 3, 3, 0, also=(Stop(StopKind.MAX_TOKENS, 12, 10, 2),))
    assert str(stop) == "max_turns (3 of 3); max_tokens (12 of 10)"
    cancelled = Stop(StopKind.CANCELLED, evidence={"reason": "user pressed Stop"})
    assert str(cancelled) == "cancelled: user pressed Stop"
    assert cancelled.reason == "user pressed Stop"
    assert stop.reason == "max_turns"
