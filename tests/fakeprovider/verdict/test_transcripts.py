"""Clauses on requests: a small harness that passes each, and one that fails."""

from __future__ import annotations

import httpx
from small_harness import Bench, Harness, Message, judged

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Reply, ask, say


def two_turns(conversation: Conversation) -> Reply:
    """Lists files, then answers."""
    return say("Done.") if conversation.turn else ask("list_files")


SCRIPTS = {script.__name__: script for script in (two_turns,)}


def test_history_passes_where_it_grows(bench: Bench) -> None:
    assert judged("history", bench.run(Harness(cap=6), "runaway")).result == "pass"
    assert judged("history", bench.run(Harness(cap=1), "runaway")).result == "not applicable"


def test_history_fails_where_messages_are_dropped(bench: Bench) -> None:
    def trim(messages: list[Message]) -> list[Message]:
        return [messages[0], *messages[1:][-4:]]

    result = judged("history", bench.run(Harness(cap=6, history=trim), "runaway"))
    assert result.failed
    assert result.detail.startswith("the history lost messages: there were 5, and with")


def test_history_fails_where_messages_change_places(bench: Bench) -> None:
    turns: list[int] = []

    def shuffle(messages: list[Message]) -> list[Message]:
        turns.append(1)
        if len(turns) < 4:
            return messages
        return [messages[0], *messages[3:5], *messages[1:3], *messages[5:]]

    result = judged("history", bench.run(Harness(cap=4, history=shuffle), "runaway"))
    assert result.failed
    assert result.detail == "messages of the history changed places"


def test_side_requests_fails_where_a_title_is_asked_for(bench: Bench) -> None:
    assert judged("side_requests", bench.run(Harness(), "two_turns")).result == "pass"
    title = {"role": "system", "content": "You are a title generator. You output ONLY a title."}

    class Titled(Harness):
        def run(self, http: httpx.Client, base_url: str, task: str = "go") -> list[Message]:
            messages = [title, {"role": "user", "content": task}]
            body = {"model": "m", "messages": messages}
            http.post(f"{base_url}/chat/completions", json=body)
            return super().run(http, base_url, task)

    exchanges = bench.run(Titled(), "two_turns")
    result = judged("side_requests", exchanges)
    assert result.failed
    assert result.detail.startswith("1 title; they cost ")
    assert result.evidence == (exchanges[0].number,)
