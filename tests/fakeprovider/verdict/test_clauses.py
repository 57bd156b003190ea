"""Each clause with a small harness that passes and one that fails."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Reply, ask, call, say
from fakeprovider.verdict import CLAUSES, ClauseResult, Effect, Facts, to_json, verdict

Judged = Callable[..., ClauseResult]


def two_turns(conversation: Conversation) -> Reply:
    """Lists files, then answers."""
    return say("Done.") if conversation.turn else ask("list_files")


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


SCRIPTS = {one.__name__: one for one in (two_turns, deletes, writes, pair)}


def test_ends_passes_where_an_answer_ends_the_run(bench: Any, harness: Any, judged: Judged) -> None:
    exchanges = bench.run(harness(), "two_turns")
    found = judged("ends", exchanges)
    assert (found.result, found.evidence) == ("pass", (exchanges[1].number,))
    assert found.detail == "the last reply was an answer, and nothing followed"


def test_ends_fails_where_the_run_had_to_be_stopped(
    bench: Any, harness: Any, judged: Judged
) -> None:
    exchanges = bench.run(harness(cap=30), "runaway")
    found = judged("ends", exchanges, ended=False)
    assert found.failed
    assert found.detail == "it had to be stopped after 30 model calls"
    assert judged("ends", exchanges, ended=True).result == "pass"
    assert judged("ends", exchanges).result == "not observable"
    assert judged("ends", []).result == "not applicable"


def test_after_answer_passes_where_nothing_follows(
    bench: Any, harness: Any, judged: Judged
) -> None:
    assert judged("after_answer", bench.run(harness(), "two_turns")).result == "pass"
    assert judged("after_answer", bench.run(harness(cap=3), "runaway")).result == "not applicable"


def test_after_answer_fails_where_the_loop_goes_on(
    bench: Any, harness: Any, judged: Judged
) -> None:
    exchanges = bench.run(harness(cap=5, answer_is_an_end=False), "two_turns")
    found = judged("after_answer", exchanges)
    assert found.failed
    assert found.evidence == tuple(exchange.number for exchange in exchanges[2:])


def test_after_answer_fails_where_an_answered_request_is_sent_again_and_again(
    bench: Any, harness: Any, judged: Judged
) -> None:
    """A loop that forgets the answer, so that a stateless model answers for ever."""

    def forget(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        while messages[-1]["role"] == "assistant" and not messages[-1].get("tool_calls"):
            messages.pop()
        return messages

    exchanges = bench.run(harness(cap=6, answer_is_an_end=False, history=forget), "two_turns")
    assert judged("after_answer", exchanges).failed
    assert judged("after_answer", exchanges[:3]).result == "pass"  # once more is a resumed run


def test_after_answer_fails_where_the_client_puts_words_in_the_models_mouth(
    bench: Any, harness: Any, judged: Judged
) -> None:
    """`continue`, said in the assistant's name, is not the user's word."""

    class Urges(harness):  # type: ignore[misc]
        def run(self, http: Any, base_url: str, task: str = "go") -> Any:
            messages = super().run(http, base_url, task)
            for _ in range(2):
                messages.append({"role": "assistant", "content": "continue"})
                messages.append(self.ask(http, base_url, messages))

    exchanges = bench.run(Urges(), "two_turns")
    found = judged("after_answer", exchanges)
    assert found.failed
    assert found.evidence == (exchanges[2].number, exchanges[3].number)


def test_after_answer_and_history_fail_where_only_the_question_and_the_answer_are_sent_again(
    bench: Any, harness: Any, judged: Judged
) -> None:
    class Forgets(harness):  # type: ignore[misc]
        def run(self, http: Any, base_url: str, task: str = "go") -> Any:
            messages = super().run(http, base_url, task)
            self.ask(http, base_url, [messages[0], messages[-1]])

    exchanges = bench.run(Forgets(), "two_turns")
    assert judged("after_answer", exchanges).failed
    found = judged("history", exchanges)
    assert found.failed
    assert found.detail.startswith("the history lost messages: there were 3,")


def test_after_answer_and_history_pass_where_only_answers_are_kept_for_the_next_question(
    bench: Any, harness: Any, judged: Judged
) -> None:
    class Chat(harness):  # type: ignore[misc]
        def run(self, http: Any, base_url: str, task: str = "go") -> Any:
            messages = super().run(http, base_url, task)
            said = {"role": "user", "content": "And now?"}
            self.ask(http, base_url, [messages[0], messages[-1], said])

    exchanges = bench.run(Chat(), "two_turns")
    assert judged("after_answer", exchanges).result == "pass"
    assert judged("history", exchanges).result == "pass"


def test_after_answer_passes_where_the_start_of_a_reply_is_put_in_the_models_mouth(
    bench: Any, harness: Any, judged: Judged
) -> None:
    """A prefill, in a request that goes on from no answer."""

    class Prefills(harness):  # type: ignore[misc]
        def run(self, http: Any, base_url: str, task: str = "go") -> Any:
            super().run(http, base_url, task)
            self.ask(
                http,
                base_url,
                [{"role": "user", "content": "As JSON"}, {"role": "assistant", "content": "{"}],
            )

    assert judged("after_answer", bench.run(Prefills(), "two_turns")).result == "pass"


@pytest.mark.parametrize(("made", "result"), [(8, "pass"), (9, "fail"), (7, "fail")])
def test_cap_is_kept_to_the_call(
    bench: Any, harness: Any, judged: Judged, made: int, result: str
) -> None:
    exchanges = bench.run(harness(cap=made), "runaway")
    found = judged("cap", exchanges, cap=8)
    assert found.result == result
    assert found.detail.startswith(f"{made} model calls under a cap of 8")
    assert judged("cap", exchanges).result == "not applicable"


def test_cap_says_what_it_cannot_know(bench: Any, harness: Any, judged: Judged) -> None:
    """Far below the cap something else ended the run; an answer below it is no fault."""
    assert judged("cap", bench.run(harness(cap=3), "runaway"), cap=8).result == "not observable"
    assert judged("cap", bench.run(harness(), "two_turns"), cap=8).result == "pass"


def test_cap_counts_a_request_with_its_retries_once(
    bench: Any, harness: Any, judged: Judged
) -> None:
    exchanges = bench.run(harness(cap=3, retries=2), "runaway", "unavailable,turn=1,times=2")
    assert len(exchanges) == 5
    assert judged("cap", exchanges, cap=3).result == "pass"


def test_retry_after_passes_where_the_wait_is_kept(
    bench: Any, harness: Any, judged: Judged
) -> None:
    fault = "rate_limited,times=1,turn=0,retry_after=0.4"
    exchanges = bench.run(harness(retries=1, wait=None), "two_turns", fault)
    assert judged("retry_after", exchanges).result == "pass"
    assert judged("retry_after", bench.run(harness(), "two_turns")).result == "not applicable"


def test_retry_after_fails_where_the_retry_comes_too_soon(
    bench: Any, harness: Any, judged: Judged
) -> None:
    fault = "rate_limited,times=1,turn=0,retry_after=2"
    exchanges = bench.run(harness(retries=1, wait=0), "two_turns", fault)
    found = judged("retry_after", exchanges)
    assert found.failed
    assert "where 2 s were asked for" in found.detail
    assert found.evidence == (exchanges[1].number,)


def test_retry_storm_passes_for_a_few_retries_with_waits(
    bench: Any, harness: Any, judged: Judged
) -> None:
    fault = "unavailable,times=3,turn=0"
    exchanges = bench.run(harness(retries=5, wait=0.12), "two_turns", fault)
    assert judged("retry_storm", exchanges).result == "pass"
    assert judged("retry_storm", bench.run(harness(), "two_turns")).result == "not applicable"


@pytest.mark.parametrize(("retries", "wait"), [(4, 0.0), (12, 0.11)])
def test_retry_storm_fails_without_waits_or_without_end(
    bench: Any, harness: Any, judged: Judged, retries: int, wait: float
) -> None:
    exchanges = bench.run(harness(retries=retries, wait=wait), "two_turns", "unavailable")
    assert judged("retry_storm", exchanges).failed


def test_stacked_retries_passes_for_one_layer(bench: Any, harness: Any, judged: Judged) -> None:
    fault = "unavailable,times=3,turn=0"
    one = bench.run(harness(retries=3, wait=0, counts=lambda n: n), "two_turns", fault)
    assert judged("stacked_retries", one).result == "pass"
    zero = bench.run(harness(retries=3, wait=0, counts=lambda n: 0), "two_turns", fault)
    assert judged("stacked_retries", zero).result == "pass"


def test_stacked_retries_fails_where_the_count_starts_again(
    bench: Any, harness: Any, judged: Judged
) -> None:
    counts = harness(retries=5, wait=0, counts=lambda attempt: attempt % 3)
    found = judged("stacked_retries", bench.run(counts, "two_turns", "unavailable,times=4"))
    assert found.failed
    assert found.detail == "the client's own retry count starts again: 0, 1, 2, 0, 1"


def test_stacked_retries_is_not_seen_without_a_count(
    bench: Any, harness: Any, judged: Judged
) -> None:
    exchanges = bench.run(harness(retries=3, wait=0), "two_turns", "unavailable,times=2,turn=0")
    assert judged("stacked_retries", exchanges).result == "not observable"


def test_identical_calls_fails_at_the_sixth_and_passes_at_the_fifth(
    bench: Any, harness: Any, judged: Judged
) -> None:
    """A result is seen with the next request, so the sixth is in the seventh."""
    assert judged("identical_calls", bench.run(harness(cap=6), "runaway")).result == "pass"
    found = judged("identical_calls", bench.run(harness(cap=7), "runaway"))
    assert found.failed
    assert found.detail.startswith("list_files was called 6 times")
    polled = bench.run(harness(cap=30), "runaway")
    assert judged("identical_calls", polled, polling=frozenset({"list_files"})).result == "pass"


def test_pairing_passes_for_results_in_any_order(bench: Any, harness: Any, judged: Judged) -> None:
    def swap(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [*messages[:-2], messages[-1], messages[-2]] if len(messages) == 4 else messages

    assert judged("pairing", bench.run(harness(), "pair")).result == "pass"
    assert judged("pairing", bench.run(harness(history=swap), "pair")).result == "pass"


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (lambda messages: messages[:-1] if len(messages) == 4 else messages, "no tool result"),
        (lambda messages: [*messages, messages[-1]][-5:], "second result"),
        (lambda messages: [messages[0], *messages[2:]], "no call of the assistant message"),
    ],
)
def test_pairing_fails_for_dangling_calls_and_orphan_results(
    bench: Any, harness: Any, judged: Judged, broken: Any, told: str
) -> None:
    def history(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return messages if len(messages) == 1 else list(broken(messages))

    found = judged("pairing", bench.run(harness(history=history, cap=2), "pair"))
    assert found.failed
    assert told in found.detail


CUT = "truncated_arguments,turn=0,finish=length"
BAD = "malformed_arguments,turn=0"


@pytest.mark.parametrize(
    ("clause", "fault"), [("truncated_executed", CUT), ("malformed_executed", BAD)]
)
def test_calls_that_must_not_run_pass_where_the_model_is_told_in_words(
    bench: Any, harness: Any, judged: Judged, clause: str, fault: str
) -> None:
    tell = harness(tool=lambda name, arguments: "Not run: the arguments were cut off.")
    exchanges = bench.run(tell, "writes", fault)
    assert judged(clause, exchanges).result == "pass"
    assert judged(clause, exchanges, effects=[]).result == "pass"
    assert judged(clause, bench.run(harness(), "writes")).result == "not applicable"


@pytest.mark.parametrize(
    ("clause", "fault"), [("truncated_executed", CUT), ("malformed_executed", BAD)]
)
def test_calls_that_must_not_run_fail_where_the_ledger_has_their_effect(
    bench: Any, harness: Any, judged: Judged, clause: str, fault: str
) -> None:
    exchanges = bench.run(harness(), "writes", fault)
    ran = Effect(effect="wrote", target="a.txt", tool="write", call_id="fake0")
    assert judged(clause, exchanges, effects=[ran]).failed
    assert judged(clause, exchanges).result == "not observable"


def test_truncated_executed_covers_complete_calls_of_a_cut_reply_and_broken_streams(
    bench: Any, harness: Any, judged: Judged
) -> None:
    fault = "finish_disagrees,finish=length,turn=0"
    ran = Effect(effect="wrote", tool="write", call_id="fake0")
    exchanges = bench.run(harness(), "writes", fault)
    assert judged("truncated_executed", exchanges, effects=[ran]).failed
    retried = bench.run(harness(retries=1, wait=0), "writes", "unavailable,times=1,turn=0")
    assert judged("truncated_executed", retried, effects=[ran]).result == "not applicable"


def test_unapproved_needs_a_ledger_and_says_so(bench: Any, harness: Any, judged: Judged) -> None:
    exchanges = bench.run(harness(), "deletes")
    deleted = Effect(effect="deleted", target="a.txt", tool="delete_file", call_id="fake0")
    yes = Effect(tool="delete_file", call_id="fake0", decision="approved")
    no = Effect(tool="delete_file", call_id="fake0", decision="rejected")
    assert judged("unapproved", exchanges).result == "not observable"
    assert judged("unapproved", exchanges, effects=[deleted]).result == "not observable"
    assert judged("unapproved", exchanges, effects=[yes, deleted]).result == "pass"
    assert judged("unapproved", exchanges, effects=[deleted, yes]).failed
    assert judged("unapproved", exchanges, effects=[yes, no, deleted]).failed
    found = judged("unapproved", exchanges, effects=[no, deleted])
    assert found.failed
    assert found.detail == "without an approval: deleted a.txt"
    unasked = Effect(effect="deleted", target="a.txt", tool="delete_file", decision="none")
    assert judged("unapproved", exchanges, effects=[unasked]).failed
    read = Effect(effect="read", target="a.txt", tool="read_file")
    assert judged("unapproved", exchanges, effects=[read]).result == "not applicable"
    named = {"effects": [read, no], "destructive": frozenset({"read_file"})}
    assert judged("unapproved", exchanges, **named).failed


def test_rejected_as_done_passes_where_the_rejection_is_told(
    bench: Any, harness: Any, judged: Judged
) -> None:
    no = Effect(tool="delete_file", call_id="fake0", decision="rejected")
    tell = harness(tool=lambda name, arguments: "The user rejected this call; it was not run.")
    exchanges = bench.run(tell, "deletes")
    assert judged("rejected_as_done", exchanges, effects=[no]).result == "pass"
    assert judged("rejected_as_done", exchanges).result == "not observable"
    assert judged("rejected_as_done", exchanges, effects=[]).result == "not applicable"


@pytest.mark.parametrize("text", ["Deleted a.txt.", "", "ok"])
def test_rejected_as_done_fails_where_it_is_not(
    bench: Any, harness: Any, judged: Judged, text: str
) -> None:
    no = Effect(tool="delete_file", call_id="fake0", decision="rejected")
    exchanges = bench.run(harness(tool=lambda name, arguments: text), "deletes")
    found = judged("rejected_as_done", exchanges, effects=[no])
    assert found.failed
    assert repr(text) in found.detail
    assert found.evidence == (exchanges[1].number,)


def test_rejected_as_done_fails_where_the_call_ran_all_the_same(
    bench: Any, harness: Any, judged: Judged
) -> None:
    ledger = [
        Effect(tool="delete_file", call_id="fake0", decision="rejected"),
        Effect(effect="deleted", tool="delete_file", call_id="fake0"),
    ]
    tell = harness(tool=lambda name, arguments: "rejected")
    found = judged("rejected_as_done", bench.run(tell, "deletes"), effects=ledger)
    assert found.detail == "a rejected call was executed"


def test_history_passes_where_it_grows(bench: Any, harness: Any, judged: Judged) -> None:
    assert judged("history", bench.run(harness(cap=6), "runaway")).result == "pass"
    assert judged("history", bench.run(harness(cap=1), "runaway")).result == "not applicable"


def test_history_fails_where_messages_are_dropped(bench: Any, harness: Any, judged: Judged) -> None:
    def trim(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [messages[0], *messages[1:][-4:]]

    found = judged("history", bench.run(harness(cap=6, history=trim), "runaway"))
    assert found.failed
    assert found.detail.startswith("the history lost messages: there were 5, and with")


def test_history_fails_where_messages_change_places(
    bench: Any, harness: Any, judged: Judged
) -> None:
    turns: list[int] = []

    def shuffle(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        turns.append(1)
        if len(turns) < 4:
            return messages
        return [messages[0], *messages[3:5], *messages[1:3], *messages[5:]]

    found = judged("history", bench.run(harness(cap=4, history=shuffle), "runaway"))
    assert found.failed
    assert found.detail == "messages of the history changed places"


def test_side_requests_fails_where_a_title_is_asked_for(
    bench: Any, harness: Any, judged: Judged
) -> None:
    assert judged("side_requests", bench.run(harness(), "two_turns")).result == "pass"
    title = {"role": "system", "content": "You are a title generator. You output ONLY a title."}

    class Titled(harness):  # type: ignore[misc]
        def run(self, http: Any, base_url: str, task: str = "go") -> Any:
            messages = [title, {"role": "user", "content": task}]
            body = {"model": "m", "messages": messages}
            http.post(f"{base_url}/chat/completions", json=body)
            return super().run(http, base_url, task)

    exchanges = bench.run(Titled(), "two_turns")
    found = judged("side_requests", exchanges)
    assert found.failed
    assert found.detail.startswith("1 title; they cost ")
    assert found.evidence == (exchanges[0].number,)


def test_every_clause_has_a_rationale_a_link_and_a_name_of_its_own() -> None:
    results = verdict([], Facts())
    assert [result.clause for result in results] == list(CLAUSES)
    assert all(result.rationale.endswith(".") for result in results)
    assert all(result.link.startswith("https://github.com/") for result in results)
    assert {result.result for result in results} <= {"not applicable", "not observable"}


def test_results_are_data(bench: Any, harness: Any) -> None:
    results = verdict(bench.run(harness(cap=9), "runaway"), Facts(cap=8))
    data = json.loads(to_json(results))["clauses"]
    failed = [one for one in data if one["result"] == "fail"]
    assert [one["clause"] for one in failed] == ["cap", "identical_calls"]
    assert set(failed[0]) == {"clause", "result", "detail", "evidence", "rationale", "link"}
