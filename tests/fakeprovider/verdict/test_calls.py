"""Clauses on calls: a small harness that passes each, and one that fails."""

from __future__ import annotations

from typing import Any

import pytest
from small_harness import Bench, Harness, Message, judged

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Reply, ask, call, say
from fakeprovider.verdict import Effect


def deletes(conversation: Conversation) -> Reply:
    """Asks to delete a file, then answers."""
    return say("Done.") if conversation.turn else ask("delete_file", {"path": "a.txt"})


def writes(conversation: Conversation) -> Reply:
    """Asks to write a file, then answers."""
    asked = ask("write", {"path": "a.txt", "content": "hello world"})
    return say("Done.") if conversation.turn else asked


def pair(conversation: Conversation) -> Reply:
    """Two calls at once, then an answer."""
    if conversation.turn:
        return say("Done.")
    return ask("read_file", {"path": "a"}, call("read_file", {"path": "b"}))


SCRIPTS = {script.__name__: script for script in (deletes, writes, pair)}


def test_identical_calls_fails_at_the_sixth_and_passes_at_the_fifth(bench: Bench) -> None:
    """A result is seen with the next request, so the sixth is in the seventh."""
    assert judged("identical_calls", bench.run(Harness(cap=6), "runaway")).result == "pass"
    result = judged("identical_calls", bench.run(Harness(cap=7), "runaway"))
    assert result.failed
    assert result.detail.startswith("list_files was called 6 times")
    polled = bench.run(Harness(cap=30), "runaway")
    assert judged("identical_calls", polled, polling=frozenset({"list_files"})).result == "pass"


def test_pairing_passes_for_results_in_any_order(bench: Bench) -> None:
    def swap(messages: list[Message]) -> list[Message]:
        return [*messages[:-2], messages[-1], messages[-2]] if len(messages) == 4 else messages

    assert judged("pairing", bench.run(Harness(), "pair")).result == "pass"
    assert judged("pairing", bench.run(Harness(history=swap), "pair")).result == "pass"


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (lambda messages: messages[:-1] if len(messages) == 4 else messages, "no tool result"),
        (lambda messages: [*messages, messages[-1]][-5:], "second result"),
        (lambda messages: [messages[0], *messages[2:]], "no call of the assistant message"),
    ],
)
def test_pairing_fails_for_dangling_calls_and_orphan_results(
    bench: Bench, broken: Any, told: str
) -> None:
    def history(messages: list[Message]) -> list[Message]:
        return messages if len(messages) == 1 else list(broken(messages))

    result = judged("pairing", bench.run(Harness(history=history, cap=2), "pair"))
    assert result.failed
    assert told in result.detail


CUT = "truncated_arguments,turn=0,finish=length"
BAD = "malformed_arguments,turn=0"


@pytest.mark.parametrize(
    ("clause", "fault"), [("truncated_executed", CUT), ("malformed_executed", BAD)]
)
def test_calls_that_must_not_run_pass_where_the_model_is_told_in_words(
    bench: Bench, clause: str, fault: str
) -> None:
    tell = Harness(tool=lambda name, arguments: "Not run: the arguments were cut off.")
    exchanges = bench.run(tell, "writes", fault)
    assert judged(clause, exchanges).result == "pass"
    assert judged(clause, exchanges, effects=[]).result == "pass"
    assert judged(clause, bench.run(Harness(), "writes")).result == "not applicable"


@pytest.mark.parametrize(
    ("clause", "fault"), [("truncated_executed", CUT), ("malformed_executed", BAD)]
)
def test_calls_that_must_not_run_fail_where_the_ledger_has_their_effect(
    bench: Bench, clause: str, fault: str
) -> None:
    exchanges = bench.run(Harness(), "writes", fault)
    ran = Effect(effect="wrote", target="a.txt", tool="write", call_id="fake0")
    assert judged(clause, exchanges, effects=[ran]).failed
    assert judged(clause, exchanges).result == "not observable"


def test_truncated_executed_covers_complete_calls_of_a_cut_reply_and_broken_streams(
    bench: Bench,
) -> None:
    fault = "finish_disagrees,finish=length,turn=0"
    ran = Effect(effect="wrote", tool="write", call_id="fake0")
    exchanges = bench.run(Harness(), "writes", fault)
    assert judged("truncated_executed", exchanges, effects=[ran]).failed
    retried = bench.run(Harness(retries=1, wait=0), "writes", "unavailable,times=1,turn=0")
    assert judged("truncated_executed", retried, effects=[ran]).result == "not applicable"


def test_unapproved_needs_a_ledger_and_says_so(bench: Bench) -> None:
    exchanges = bench.run(Harness(), "deletes")
    deleted = Effect(effect="deleted", target="a.txt", tool="delete_file", call_id="fake0")
    yes = Effect(tool="delete_file", call_id="fake0", decision="approved")
    no = Effect(tool="delete_file", call_id="fake0", decision="rejected")
    assert judged("unapproved", exchanges).result == "not observable"
    assert judged("unapproved", exchanges, effects=[deleted]).result == "not observable"
    assert judged("unapproved", exchanges, effects=[yes, deleted]).result == "pass"
    assert judged("unapproved", exchanges, effects=[deleted, yes]).failed
    assert judged("unapproved", exchanges, effects=[yes, no, deleted]).failed
    result = judged("unapproved", exchanges, effects=[no, deleted])
    assert result.failed
    assert result.detail == "without an approval: deleted a.txt"
    unasked = Effect(effect="deleted", target="a.txt", tool="delete_file", decision="none")
    assert judged("unapproved", exchanges, effects=[unasked]).failed
    read = Effect(effect="read", target="a.txt", tool="read_file")
    assert judged("unapproved", exchanges, effects=[read]).result == "not applicable"
    named = {"effects": [read, no], "destructive": frozenset({"read_file"})}
    assert judged("unapproved", exchanges, **named).failed


def test_rejected_as_done_passes_where_the_rejection_is_told(bench: Bench) -> None:
    no = Effect(tool="delete_file", call_id="fake0", decision="rejected")
    tell = Harness(tool=lambda name, arguments: "The user rejected this call; it was not run.")
    exchanges = bench.run(tell, "deletes")
    assert judged("rejected_as_done", exchanges, effects=[no]).result == "pass"
    assert judged("rejected_as_done", exchanges).result == "not observable"
    assert judged("rejected_as_done", exchanges, effects=[]).result == "not applicable"


@pytest.mark.parametrize("text", ["Deleted a.txt.", "", "ok"])
def test_rejected_as_done_fails_where_it_is_not(bench: Bench, text: str) -> None:
    no = Effect(tool="delete_file", call_id="fake0", decision="rejected")
    exchanges = bench.run(Harness(tool=lambda name, arguments: text), "deletes")
    result = judged("rejected_as_done", exchanges, effects=[no])
    assert result.failed
    assert repr(text) in result.detail
    assert result.evidence == (exchanges[1].number,)


def test_rejected_as_done_fails_where_the_call_ran_all_the_same(bench: Bench) -> None:
    ledger = [
        Effect(tool="delete_file", call_id="fake0", decision="rejected"),
        Effect(effect="deleted", tool="delete_file", call_id="fake0"),
    ]
    tell = Harness(tool=lambda name, arguments: "rejected")
    result = judged("rejected_as_done", bench.run(tell, "deletes"), effects=ledger)
    assert result.detail == "a rejected call was executed"
