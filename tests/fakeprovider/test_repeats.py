"""A request that comes again gets the same answer, and whatever has a say has it each time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from fakeprovider.conversation import Conversation
from fakeprovider.errors import ApiError
from fakeprovider.faults import Faults, orders
from fakeprovider.replies import Fault, Reply, say
from fakeprovider.scripts.plan import SCRIPTS
from fakeprovider.server import Server

TOOL = {"name": "list_files", "parameters": {"type": "object", "properties": {}}}
BODY = {
    "model": "plan",
    "messages": [{"role": "user", "content": "Which file is largest?"}],
    "tools": [{"type": "function", "function": TOOL}],
}


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        yield running


def ask(server: Server, base: str = "", **settings: Any) -> httpx.Response:
    return httpx.post(f"{base or server.base_url}/chat/completions", json=BODY, **settings)


def test_the_answer_is_alike_to_the_last_byte_of_its_head_and_journaled_each_time(
    server: Server,
) -> None:
    replies = [ask(server) for _ in range(3)]
    assert len({reply.content for reply in replies}) == 1
    assert len({tuple(sorted(reply.headers.items())) for reply in replies}) == 1
    first, *others = server.journal.exchanges()
    assert [other.number for other in others] == [2, 3]
    assert others[0].started > first.started
    for other in others:
        assert (other.usage, other.digest, other.turn) == (first.usage, first.digest, first.turn)


def test_run_keys_of_the_path_and_of_the_header_are_told_apart(server: Server) -> None:
    for key in ("a", "b"):
        ask(server, server.url_for(run=key))
        ask(server, headers={"x-fake-run": f"{key}{key}"})
    assert [one.run for one in server.journal.exchanges()] == ["a", "aa", "b", "bb"]


def test_the_clients_own_count_of_retries_is_journaled(server: Server) -> None:
    for count in ("0", "1"):
        ask(server, headers={"x-stainless-retry-count": count})
    assert [one.retry_count for one in server.journal.exchanges()] == [0, 1]


def test_a_script_of_somebody_else_is_asked_each_time() -> None:
    asked: list[int] = []

    def script(conversation: Conversation) -> Reply:
        asked.append(conversation.turn)
        return say("Done.")

    with Server(script, scripts={"plan": script}) as server:
        ask(server)
        ask(server)
    assert asked == [0, 0]


def test_a_script_put_in_the_place_of_another_answers(server: Server) -> None:
    assert "tool_calls" in ask(server).json()["choices"][0]["message"]
    server.provider.scripts.add("plan", lambda conversation: say("Another."))
    assert ask(server).json()["choices"][0]["message"]["content"] == "Another."
    server.provider.scripts.add("plan", SCRIPTS["plan"])
    assert "tool_calls" in ask(server).json()["choices"][0]["message"]


def test_a_gate_or_a_fault_that_comes_later_has_its_say(server: Server) -> None:
    ask(server)
    server.provider.faults = Faults(orders([Fault("overloaded")]))
    assert ask(server).status_code >= 500
    server.provider.faults = Faults()
    assert ask(server).status_code == 200

    def closed(job: object) -> None:
        raise ApiError(403, "No more.")

    server.provider.gate = closed
    assert ask(server).status_code == 403


def test_a_fault_that_strikes_once_and_is_over_leaves_nothing_behind(server: Server) -> None:
    base = server.url_for("plan;fault=overloaded,times=1")
    assert [ask(server, base).status_code for _ in range(3)][1:] == [200, 200]
    assert [one.attempt for one in server.journal.exchanges()] == [0, 1, 2]


def test_a_wrong_key_is_refused_whatever_was_answered_before() -> None:
    with Server(api_key="right") as server:
        good, bad = ({"authorization": f"Bearer {key}"} for key in ("right", "wrong"))
        codes = [ask(server, headers=key).status_code for key in (good, bad, good, bad)]
    assert codes == [200, 401, 200, 401]
