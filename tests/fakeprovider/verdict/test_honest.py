"""No clause fires on honest work: polling, legitimate repeats, parallel calls, several tasks."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from small_harness import Bench, Harness, Message

from fakeprovider.conversation import Conversation
from fakeprovider.journal import Exchange
from fakeprovider.replies import Reply, ask, call, say
from fakeprovider.verdict import Facts, verdict


def poll(conversation: Conversation) -> Reply:
    """Asks for the status until it is done."""
    return say("Done.") if conversation.seen("state: done") else ask("status", {"job": 1})


def poll_and_sleep(conversation: Conversation) -> Reply:
    """Status, a pause, status, a pause."""
    if conversation.seen("state: done"):
        return say("Done.")
    return ask("status", {"job": 1}) if conversation.turn % 2 == 0 else ask("list_files")


def test_and_edit(conversation: Conversation) -> Reply:
    """Runs the same tests after each edit."""
    if conversation.turn == 12:
        return say("Done.")
    if conversation.turn % 2:
        return ask("edit", {"line": conversation.turn})
    return ask("test")


test_and_edit.__test__ = False  # type: ignore[attr-defined]


def many_at_once(conversation: Conversation) -> Reply:
    """Eighteen different calls in one turn."""
    if conversation.turn:
        return say("Done.")
    return ask("write", {"n": 0}, *(call("write", {"n": n}) for n in range(1, 18)))


def a_few_repeats(conversation: Conversation) -> Reply:
    """Looks at the same directory again between other things."""
    if conversation.turn == 8:
        return say("Done.")
    if conversation.turn % 2:
        return ask("read_file", {"path": f"{conversation.turn}.txt"})
    return ask("list_files")


def two_tasks(conversation: Conversation) -> Reply:
    """Two turns for each task of the user."""
    return say("Done.") if conversation.since_last_user else ask("list_files")


SCRIPTS = {
    one.__name__: one
    for one in (poll, poll_and_sleep, test_and_edit, many_at_once, a_few_repeats, two_tasks)
}


@pytest.fixture
def progress() -> Callable[[str, str], str]:
    """A tool whose status and tests say something new each time, and whose rest does not."""
    step = itertools.count()

    def tool(name: str, arguments: str) -> str:
        if name == "status":
            at = next(step)
            return f"state: {'done' if at == 9 else at}"
        return f"{next(step)} failed" if name == "test" else "nothing new"

    return tool


def failures(exchanges: list[Exchange], **facts: Any) -> list[str]:
    """What failed, with the reason."""
    results = verdict(exchanges, Facts(ended=True, **facts))
    return [f"{result.clause}: {result.detail}" for result in results if result.failed]


@pytest.mark.parametrize("script", [name for name in SCRIPTS if name != "two_tasks"])
def test_honest_work_is_left_alone(
    bench: Bench, progress: Callable[[str, str], str], script: str
) -> None:
    exchanges = bench.run(Harness(tool=progress), script)
    assert exchanges[-1].finish == "stop"
    assert failures(exchanges) == []


@pytest.mark.parametrize("script", ["plan", "recover", "long"])
def test_the_classic_scripts_are_left_alone(bench: Bench, script: str) -> None:
    assert failures(bench.run(Harness(), script)) == []


def test_several_tasks_in_one_conversation_are_left_alone(bench: Bench) -> None:
    class Chat(Harness):
        def run(self, http: httpx.Client, base_url: str, task: str = "go") -> list[Message]:
            messages: list[Message] = [{"role": "user", "content": "one"}]
            for _ in range(3):
                for _ in range(2):
                    reply = self.answer(http, base_url, messages)
                    messages.append(reply)
                    messages += [self.result(call) for call in reply.get("tool_calls") or ()]
                messages.append({"role": "user", "content": "next"})
            return messages

    assert failures(bench.run(Chat(), "two_tasks")) == []


def test_the_same_task_run_afresh_several_times_is_left_alone(bench: Bench) -> None:
    """As an outer loop does, under one run key."""

    class Ralph(Harness):
        def run(self, http: httpx.Client, base_url: str, task: str = "go") -> list[Message]:
            runs = [super(Ralph, self).run(http, base_url, task) for _ in range(5)]
            return runs[-1]

    assert failures(bench.run(Ralph(), "two_tasks")) == []


def test_sub_agents_whose_requests_come_in_between_are_left_alone(bench: Bench) -> None:
    """Each goes on from its own history."""

    class Tree(Harness):
        def run(self, http: httpx.Client, base_url: str, task: str = "go") -> list[Message]:
            agents: list[list[Message]] = [
                [{"role": "user", "content": name}] for name in ("parent", "child", "other")
            ]
            for _ in range(4):
                for messages in agents:
                    reply = self.answer(http, base_url, messages)
                    messages.append(reply)
                    messages += [self.result(call) for call in reply.get("tool_calls") or ()]
            return agents[0]

    exchanges = bench.run(Tree(), "runaway")
    assert len(exchanges) == 12
    assert failures(exchanges, polling=frozenset({"list_files"})) == []


def test_a_run_that_is_resumed_asks_once_more_and_is_left_alone(bench: Bench) -> None:
    class Resumed(Harness):
        def run(self, http: httpx.Client, base_url: str, task: str = "go") -> list[Message]:
            messages = super().run(http, base_url, task)
            self.ask(http, base_url, messages[:-1])  # it was killed before the answer was stored
            return messages

    assert failures(bench.run(Resumed(), "two_tasks")) == []


def test_a_nudge_after_an_empty_reply_is_left_alone(bench: Bench) -> None:
    class Nudges(Harness):
        def run(self, http: httpx.Client, base_url: str, task: str = "go") -> list[Message]:
            messages: list[Message] = [{"role": "user", "content": task}]
            self.ask(http, base_url, messages)
            messages.append({"role": "user", "content": "You said nothing. Go on."})
            messages.append(self.answer(http, base_url.replace(";fault=empty_reply", ""), messages))
            messages += [self.result(call) for call in messages[-1].get("tool_calls") or ()]
            self.ask(http, base_url.replace(";fault=empty_reply", ""), messages)
            return messages

    assert failures(bench.run(Nudges(), "two_tasks", "empty_reply")) == []


def test_a_patient_retry_is_left_alone(bench: Bench) -> None:
    patient = Harness(retries=2, wait=None, counts=lambda attempt: attempt)
    fault = "rate_limited,turn=1,times=2,retry_after=0.3"
    assert failures(bench.run(patient, "plan", fault)) == []


def test_an_edit_of_an_earlier_message_is_left_alone(bench: Bench) -> None:
    """What was cut down in place is neither shorter nor in another order."""

    def shorten(messages: list[Message]) -> list[Message]:
        return [
            {**one, "content": "(cut)"} if one["role"] == "tool" and at < len(messages) - 2 else one
            for at, one in enumerate(messages)
        ]

    exchanges = bench.run(Harness(cap=5, history=shorten), "runaway")
    assert failures(exchanges) == []
