"""A request that comes again gets the same answer, and whatever has a say has it each time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from starlette.middleware.gzip import GZipMiddleware

from fakeprovider.conversation import Conversation
from fakeprovider.errors import ApiError
from fakeprovider.faults import Faults, orders
from fakeprovider.replies import Fault, Reply, say
from fakeprovider.scripts.steady import plan
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
    settings.setdefault("json", BODY)
    return httpx.post(f"{base or server.base_url}/chat/completions", **settings)


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
    server.provider.scripts.add("plan", plan)
    assert "tool_calls" in ask(server).json()["choices"][0]["message"]


def test_a_script_that_comes_later_under_the_models_name_answers_in_place_of_the_default() -> None:
    with Server("plan") as server:
        body = {**BODY, "model": "later"}
        assert "tool_calls" in ask(server, json=body).json()["choices"][0]["message"]
        server.provider.scripts.add("later", lambda conversation: say("Here."))
        assert ask(server, json=body).json()["choices"][0]["message"]["content"] == "Here."
        server.provider.scripts.remove("later")
        assert "tool_calls" in ask(server, json=body).json()["choices"][0]["message"]


def test_an_answer_is_remembered_as_that_of_the_script_that_gave_it() -> None:
    def swapped(conversation: Conversation) -> Reply:
        running.provider.scripts.add("plan", plan)
        return say("Gone now.")

    running = Server(swapped, scripts={"plan": swapped})
    with running as server:
        assert ask(server).json()["choices"][0]["message"]["content"] == "Gone now."
        assert "tool_calls" in ask(server).json()["choices"][0]["message"]


def test_a_script_that_is_taken_away_while_it_answers_has_answered() -> None:
    def vanishing(conversation: Conversation) -> Reply:
        running.provider.scripts.remove("once")
        return say("Once.")

    running = Server(scripts={"once": vanishing})
    with running as server:
        codes = [ask(server, server.url_for("once")).status_code for _ in range(2)]
    assert codes == [200, 404]


def test_bodies_are_journaled_once_they_are_wanted(server: Server) -> None:
    ask(server)
    server.journal.bodies = True
    ask(server)
    assert [one.request is not None for one in server.journal.exchanges()] == [False, True]


def test_what_stands_around_the_application_may_change_what_it_sends() -> None:
    app = GZipMiddleware(Server().app, minimum_size=10)
    seen: list[tuple[str | None, str]] = []

    async def look() -> None:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://provider/v1") as client:
            for coding in ("gzip", "identity", "gzip", "identity"):
                head = {"accept-encoding": coding}
                reply = await client.post("/chat/completions", json=BODY, headers=head)
                seen.append((reply.headers.get("content-encoding"), reply.headers["vary"]))

    asyncio.run(look())
    assert seen == [("gzip", "Accept-Encoding"), (None, "Accept-Encoding")] * 2


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
