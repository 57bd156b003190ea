"""Side requests get a plain answer, and the script does not see them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from fakeprovider.conversation import Conversation, Message, Offered
from fakeprovider.fitting.side_requests import (
    COMPACTIONS,
    PROBES,
    TITLES,
    plain_answer,
    side_request,
)
from fakeprovider.replies import Reply, say
from fakeprovider.server import Server

TITLE_SCHEMA = {
    "type": "object",
    "properties": {"title": {"type": "string"}},
    "required": ["title"],
    "additionalProperties": False,
}


def kind(*messages: Message, tools: tuple[Offered, ...] = (), **more: Any) -> str | None:
    side = side_request(Conversation("m", messages, tools, **more))
    return None if side is None else side.kind


@pytest.mark.parametrize("marker", TITLES)
def test_a_title_prompt_is_known_as_system_or_user_text(marker: str) -> None:
    assert kind(Message("system", marker.upper()), Message("user", "Fix it")) == "title"
    assert kind(Message("user", f"{marker}: fix it")) == "title"


def test_a_title_is_known_by_the_schema_of_its_answer() -> None:
    options = {"json_schema": TITLE_SCHEMA}
    assert kind(Message("user", "Fix it"), options=options) == "title"
    several = {"json_schema": {"properties": dict.fromkeys(["title", "author", "year"], True)}}
    assert kind(Message("user", "A book, please"), options=several) is None


def test_the_same_words_in_a_real_request_are_not_a_side_request() -> None:
    marker = Message("user", TITLES[0])
    assert kind(marker, tools=(Offered("list_files"),)) is None
    assert kind(marker, Message("assistant", "Ok"), Message("user", "go on"), position=1) is None


def test_a_probe_comes_alone() -> None:
    assert kind(Message("user", "Please say 'hello, world'")) == "probe"
    assert kind(Message("system", "You are."), Message("user", PROBES[0])) is None


@pytest.mark.parametrize("marker", COMPACTIONS)
def test_a_compaction_prompt_is_the_last_message_and_comes_with_tools_and_history(
    marker: str,
) -> None:
    history = (Message("user", "Fix it"), Message("assistant", "Ok"))
    tools = (Offered("Bash"),)
    assert (
        kind(*history, Message("user", f"You: {marker}."), tools=tools, position=1) == "compaction"
    )
    after = (Message("user", marker), Message("assistant", "Summary"), Message("user", "go on"))
    assert kind(*after, tools=tools, position=1) is None
    assert kind(*history, Message("tool", marker), tools=tools, position=1) is None


def test_a_sub_agent_is_known_by_its_header_alone() -> None:
    side = side_request(Conversation("m", (Message("user", "x"),)), "x-claude-code-agent-id")
    assert side is not None
    assert side.kind == "sub_agent"


def test_a_request_without_tools_is_the_scripts_if_it_has_no_marker() -> None:
    assert kind(Message("user", "Write a short title for my essay")) is None


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    def script(conversation: Conversation) -> Reply:
        """Says which turn it is."""
        return say(f"turn {conversation.turn}")

    with Server(script) as running:
        yield running


def post(server: Server, run: str, *messages: dict[str, str], **headers: str) -> httpx.Response:
    return httpx.post(
        f"{server.url_for(run=run)}/chat/completions",
        json={"model": "m", "messages": list(messages)},
        headers=headers,
        timeout=60,
    )


def content(reply: httpx.Response) -> str:
    return str(reply.json()["choices"][0]["message"]["content"])


def test_over_the_wire_the_script_is_not_asked_and_the_journal_says_so(server: Server) -> None:
    title = post(
        server, "side", {"role": "system", "content": TITLES[0]}, {"role": "user", "content": "x"}
    )
    agent = post(
        server, "side", {"role": "user", "content": "x"}, **{"X-Claude-Code-Agent-Id": "7"}
    )
    usual = post(server, "side", {"role": "user", "content": "x"})
    assert content(title) == "Scripted run"
    assert content(agent) == "There is nothing to report."
    assert content(usual) == "turn 0"
    rules = [
        [note.rule for note in exchange.notes] for exchange in server.journal.exchanges("side")
    ]
    assert rules == [["side_request"], ["side_request"], []]
    assert title.headers["x-fakeprovider-note"] == f"side_request: title ({TITLES[0]})"


def test_the_answer_fits_the_schema_that_is_asked_for() -> None:
    schema = {
        **TITLE_SCHEMA,
        "properties": {"title": {"type": "string"}, "isNewTopic": {"type": "boolean"}},
    }
    schema["required"] = ["title", "isNewTopic"]
    conversation = Conversation("m", (Message("user", "x"),), options={"json_schema": schema})
    side = side_request(conversation)
    assert side is not None
    assert json.loads(plain_answer(side, conversation).text) == {
        "title": "Scripted run",
        "isNewTopic": False,
    }
