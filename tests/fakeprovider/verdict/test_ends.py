"""Clauses on how a run ends: a small harness that passes each, and one that fails."""

from __future__ import annotations

import httpx
import pytest
from small_harness import Bench, Harness, Message, judged

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Reply, ask, say


def two_turns(conversation: Conversation) -> Reply:
    """Lists files, then answers."""
    return say("Done.") if conversation.turn else ask("list_files")


SCRIPTS = {script.__name__: script for script in (two_turns,)}


def test_ends_passes_where_an_answer_ends_the_run(bench: Bench) -> None:
    exchanges = bench.run(Harness(), "two_turns")
    result = judged("ends", exchanges)
    assert (result.result, result.evidence) == ("pass", (exchanges[1].number,))
    assert result.detail == "the last reply was an answer, and nothing followed"


def test_ends_fails_where_the_run_had_to_be_stopped(bench: Bench) -> None:
    exchanges = bench.run(Harness(cap=30), "runaway")
    result = judged("ends", exchanges, ended=False)
    assert result.failed
    assert result.detail == "it had to be stopped after 30 model calls"
    assert judged("ends", exchanges, ended=True).result == "pass"
    assert judged("ends", exchanges).result == "not observable"
    assert judged("ends", []).result == "not applicable"


def test_after_answer_passes_where_nothing_follows(bench: Bench) -> None:
    assert judged("after_answer", bench.run(Harness(), "two_turns")).result == "pass"
    assert judged("after_answer", bench.run(Harness(cap=3), "runaway")).result == "not applicable"


def test_after_answer_fails_where_the_loop_goes_on(bench: Bench) -> None:
    exchanges = bench.run(Harness(cap=5, answer_is_an_end=False), "two_turns")
    result = judged("after_answer", exchanges)
    assert result.failed
    assert result.evidence == tuple(exchange.number for exchange in exchanges[2:])


def test_after_answer_fails_where_an_answered_request_is_sent_again_and_again(bench: Bench) -> None:
    """A loop that forgets the answer, so that a stateless model answers for ever."""

    def forget(messages: list[Message]) -> list[Message]:
        while messages[-1]["role"] == "assistant" and not messages[-1].get("tool_calls"):
            messages.pop()
        return messages

    exchanges = bench.run(Harness(cap=6, answer_is_an_end=False, history=forget), "two_turns")
    assert judged("after_answer", exchanges).failed
    assert judged("after_answer", exchanges[:3]).result == "pass"  # once more is a resumed run


def test_after_answer_fails_where_the_client_puts_words_in_the_models_mouth(bench: Bench) -> None:
    """`continue`, said in the assistant's name, is not the user's word."""

    class Urges(Harness):
        def run(self, http: httpx.Client, base_url: str, task: str = "go") -> list[Message]:
            messages = super().run(http, base_url, task)
            for _ in range(2):
                messages.append({"role": "assistant", "content": "continue"})
                messages.append(self.answer(http, base_url, messages))
            return messages

    exchanges = bench.run(Urges(), "two_turns")
    result = judged("after_answer", exchanges)
    assert result.failed
    assert result.evidence == (exchanges[2].number, exchanges[3].number)


def test_after_answer_and_history_fail_where_only_the_question_and_the_answer_are_sent_again(
    bench: Bench,
) -> None:
    class Forgets(Harness):
        def run(self, http: httpx.Client, base_url: str, task: str = "go") -> list[Message]:
            messages = super().run(http, base_url, task)
            self.ask(http, base_url, [messages[0], messages[-1]])
            return messages

    exchanges = bench.run(Forgets(), "two_turns")
    assert judged("after_answer", exchanges).failed
    result = judged("history", exchanges)
    assert result.failed
    assert result.detail.startswith("the history lost messages: there were 3,")


def test_after_answer_and_history_pass_where_only_answers_are_kept_for_the_next_question(
    bench: Bench,
) -> None:
    class Chat(Harness):
        def run(self, http: httpx.Client, base_url: str, task: str = "go") -> list[Message]:
            messages = super().run(http, base_url, task)
            question = {"role": "user", "content": "And now?"}
            self.ask(http, base_url, [messages[0], messages[-1], question])
            return messages

    exchanges = bench.run(Chat(), "two_turns")
    assert judged("after_answer", exchanges).result == "pass"
    assert judged("history", exchanges).result == "pass"


def test_after_answer_passes_where_the_start_of_a_reply_is_put_in_the_models_mouth(
    bench: Bench,
) -> None:
    """A prefill, in a request that goes on from no answer."""

    class Prefills(Harness):
        def run(self, http: httpx.Client, base_url: str, task: str = "go") -> list[Message]:
            messages = super().run(http, base_url, task)
            prefill = {"role": "assistant", "content": "{"}
            self.ask(http, base_url, [{"role": "user", "content": "As JSON"}, prefill])
            return messages

    assert judged("after_answer", bench.run(Prefills(), "two_turns")).result == "pass"


@pytest.mark.parametrize(("made", "outcome"), [(8, "pass"), (9, "fail"), (7, "fail")])
def test_cap_is_kept_to_the_call(bench: Bench, made: int, outcome: str) -> None:
    exchanges = bench.run(Harness(cap=made), "runaway")
    result = judged("cap", exchanges, cap=8)
    assert result.result == outcome
    assert result.detail.startswith(f"{made} model calls under a cap of 8")
    assert judged("cap", exchanges).result == "not applicable"


def test_cap_says_what_it_cannot_know(bench: Bench) -> None:
    """Far below the cap something else ended the run; an answer below it is no fault."""
    assert judged("cap", bench.run(Harness(cap=3), "runaway"), cap=8).result == "not observable"
    assert judged("cap", bench.run(Harness(), "two_turns"), cap=8).result == "pass"


def test_cap_counts_a_request_with_its_retries_once(bench: Bench) -> None:
    exchanges = bench.run(Harness(cap=3, retries=2), "runaway", "unavailable,turn=1,times=2")
    assert len(exchanges) == 5
    assert judged("cap", exchanges, cap=3).result == "pass"
