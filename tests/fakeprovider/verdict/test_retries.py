"""Clauses on retries: a small harness that passes each, and one that fails."""

from __future__ import annotations

import pytest
from small_harness import Bench, Harness, judged

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Reply, ask, say


def two_turns(conversation: Conversation) -> Reply:
    """Lists files, then answers."""
    return say("Done.") if conversation.turn else ask("list_files")


SCRIPTS = {script.__name__: script for script in (two_turns,)}


def test_retry_after_passes_where_the_wait_is_kept(bench: Bench) -> None:
    fault = "rate_limited,times=1,turn=0,retry_after=0.4"
    exchanges = bench.run(Harness(retries=1, wait=None), "two_turns", fault)
    assert judged("retry_after", exchanges).result == "pass"
    assert judged("retry_after", bench.run(Harness(), "two_turns")).result == "not applicable"


def test_retry_after_fails_where_the_retry_comes_too_soon(bench: Bench) -> None:
    fault = "rate_limited,times=1,turn=0,retry_after=2"
    exchanges = bench.run(Harness(retries=1, wait=0), "two_turns", fault)
    result = judged("retry_after", exchanges)
    assert result.failed
    assert "where 2 s were asked for" in result.detail
    assert result.evidence == (exchanges[1].number,)


def test_retry_storm_passes_for_a_few_retries_with_waits(bench: Bench) -> None:
    fault = "unavailable,times=3,turn=0"
    exchanges = bench.run(Harness(retries=5, wait=0.12), "two_turns", fault)
    assert judged("retry_storm", exchanges).result == "pass"
    assert judged("retry_storm", bench.run(Harness(), "two_turns")).result == "not applicable"


@pytest.mark.parametrize(("retries", "wait"), [(4, 0.0), (12, 0.11)])
def test_retry_storm_fails_without_waits_or_without_end(
    bench: Bench, retries: int, wait: float
) -> None:
    exchanges = bench.run(Harness(retries=retries, wait=wait), "two_turns", "unavailable")
    assert judged("retry_storm", exchanges).failed


def test_stacked_retries_passes_for_one_layer(bench: Bench) -> None:
    fault = "unavailable,times=3,turn=0"
    one = bench.run(Harness(retries=3, wait=0, counts=lambda n: n), "two_turns", fault)
    assert judged("stacked_retries", one).result == "pass"
    zero = bench.run(Harness(retries=3, wait=0, counts=lambda n: 0), "two_turns", fault)
    assert judged("stacked_retries", zero).result == "pass"


def test_stacked_retries_fails_where_the_count_starts_again(bench: Bench) -> None:
    counts = Harness(retries=5, wait=0, counts=lambda attempt: attempt % 3)
    result = judged("stacked_retries", bench.run(counts, "two_turns", "unavailable,times=4"))
    assert result.failed
    assert result.detail == "the client's own retry count starts again: 0, 1, 2, 0, 1"


def test_stacked_retries_is_not_seen_without_a_count(bench: Bench) -> None:
    exchanges = bench.run(Harness(retries=3, wait=0), "two_turns", "unavailable,times=2,turn=0")
    assert judged("stacked_retries", exchanges).result == "not observable"
