"""Strategies of the provider: what they make is what it says, and it shrinks to a short script."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

import fakeprovider
from fakeprovider import strategies
from fakeprovider.conversation import Conversation, Message, Offered
from fakeprovider.faults import FAULTS, plan
from fakeprovider.replies import Fault, Reply, ToolCall, call, say
from fakeprovider.scripts.reply_sequence import Replies
from fakeprovider.testing import FakeProvider
from fakeprovider.yamlscripts import read_script

FEW = settings(max_examples=60, database=None)
NAMES = {**vars(fakeprovider), "Replies": Replies, "Text": fakeprovider.Text}


def at(turn: int) -> Conversation:
    """A conversation that has come to that turn."""
    return Conversation("m", (Message("user", "x"),), turn=turn, position=turn)


@pytest.fixture(scope="module")
def provider() -> Iterator[FakeProvider]:
    with FakeProvider() as running:
        yield running


@FEW
@given(strategies.scripts())
def test_a_script_prints_as_the_python_that_makes_it(script: Replies) -> None:
    assert eval(repr(script), dict(NAMES)) == script


@FEW
@given(strategies.finite_scripts() | strategies.looping_scripts())
def test_a_script_prints_as_yaml_that_says_the_same(script: Replies) -> None:
    read, problems = read_script(script.to_yaml(), "pasted")
    assert not problems
    assert read is not None
    for turn in range(10 if script.turns is None else script.turns):
        assert read(at(turn)) == script(at(turn))


@FEW
@given(strategies.adversarial_scripts())
def test_adversarial_scripts_are_ones_the_yaml_checker_takes(script: Replies) -> None:
    read, problems = read_script(script.to_yaml(), "pasted")
    assert not problems
    assert read is not None
    assert read(at(0)) == script(at(0))


def test_what_yaml_cannot_say_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match="template"):
        Replies("{{ x }}").to_yaml()
    with pytest.raises(ValueError, match="two"):
        Replies(say("a", "b")).to_yaml()
    with pytest.raises(ValueError, match="at least one"):
        Replies()
    with pytest.raises(ValueError, match="again=2"):
        Replies("a", again=2)


def test_a_failing_script_shrinks_to_a_line() -> None:
    """The smallest script that reads some file is one call long."""
    smallest = find(
        strategies.finite_scripts(),
        lambda script: any(
            call.name == "read_file" for reply in script.replies for call in reply.calls
        ),
        settings=settings(max_examples=500, database=None),
    )
    assert repr(smallest) == """Replies(ask('read_file', {'path': 'a'}), say('a'))"""


@FEW
@given(st.data())
def test_calls_fit_the_schema_of_their_tool(data: st.DataObject) -> None:
    from jsonschema import Draft202012Validator

    tool: Offered = data.draw(strategies.tool_schemas())
    made = data.draw(strategies.calls([tool]))
    Draft202012Validator(tool.parameters).validate(json.loads(made.arguments))


@FEW
@given(strategies.faults(), strategies.faults(dialect="messages", groups=["status"]))
def test_faults_exist_and_strike_their_dialect(chat: Fault, messages: Fault) -> None:
    assert "chat" in plan(chat.name, chat.params).kind.dialects
    assert FAULTS[messages.name].group == "status"
    assert "messages" in FAULTS[messages.name].dialects


def test_a_group_without_faults_of_the_dialect_is_refused() -> None:
    with pytest.raises(ValueError, match="counting"):
        strategies.faults(groups=["counting"])


def test_conversations_are_taken_and_invalid_ones_refused_by_their_rule(
    provider: FakeProvider,
) -> None:
    with provider.run(say("ok"), in_process=True, check=False) as run:
        client = httpx.Client(transport=run.transport)
        url = f"{run.base_url};turn_from=last_user".replace("/v1;", ";") + "/v1/chat/completions"

        def answer(messages: strategies.Messages) -> httpx.Response:
            return client.post(url, json={"model": "m", "messages": messages})

        @FEW
        @given(strategies.conversations())
        def taken(messages: strategies.Messages) -> None:
            reply = answer(messages)
            assert reply.status_code == 200 or "no turn" in reply.text, reply.text

        @FEW
        @given(strategies.invalid_conversations())
        def refused(wrong: tuple[str, strategies.Messages]) -> None:
            rule, messages = wrong
            assert answer(messages).status_code == 400
            assert rule in {violation.rule for violation in run.requests[-1].violations}

        taken()
        refused()


@FEW
@given(st.data(), st.binary(max_size=40))
def test_chunkings_join_to_the_bytes(data: st.DataObject, stream: bytes) -> None:
    pieces = data.draw(strategies.chunkings(stream))
    assert b"".join(pieces) == stream
    assert all(pieces) or not stream


def test_replies_go_on_as_they_say() -> None:
    script = Replies("a", "b", "c", again=1)
    assert [script(at(turn)).text for turn in range(6)] == ["a", "b", "c", "b", "c", "b"]
    assert (script.turns, Replies("a").turns) == (None, 1)
    assert repr(Reply((ToolCall("x", "{", "id1"),))) != ""
    assert repr(Replies(Reply((call("x", "{"),), finish="length"))) == (
        "Replies(Reply((call('x', '{'),), finish='length'))"
    )
