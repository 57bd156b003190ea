"""Three clients against the scripted provider: one reply, six ways to fetch it, one result.

The provider shares no code with the clients, and refuses what the real services refuse.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Refusal, Reply, Text, Thinking, call, say
from fakeprovider.server import Server
from fakeprovider_harness.models import (
    PROTOCOLS,
    Message,
    ModelError,
    ModelReply,
    ToolSpec,
    make_model,
)

PARAMETERS = {"type": "object", "properties": {"x": {}}}
TOOLS = [ToolSpec(name, "Does it.", PARAMETERS) for name in ("read_file", "list_files")]
WAYS = [(protocol, stream) for protocol in PROTOCOLS for stream in (False, True)]


class Stage:
    """A provider whose only script gives the reply that was set last."""

    def __init__(self) -> None:
        self.reply = say("")
        self.server = Server(self.script)

    def script(self, conversation: Conversation) -> Reply:
        """Whatever the test has set, on the first turn; then the end."""
        return self.reply if conversation.turn == 0 else say("The end.")

    def ask(self, reply: Reply, protocol: str, stream: bool) -> tuple[ModelReply, ModelReply]:
        """The client's view of `reply`, and of the next turn after results were sent back."""
        self.reply = reply
        return asyncio.run(self._two_turns(protocol, stream))

    async def _two_turns(self, protocol: str, stream: bool) -> tuple[ModelReply, ModelReply]:
        model = make_model(protocol, self.server.url, "m", stream=stream)
        history = [Message("system", "Be brief."), Message("user", "hi")]
        first = await model.ask(history, TOOLS)
        text = first.text if first.text.strip() or first.calls else "(empty)"
        history.append(Message("assistant", text, first.calls, opaque=first.opaque))
        history += [Message("tool", "done", call_id=c.id, name=c.name) for c in first.calls]
        history += [] if first.finish == "pause" else [Message("user", "go on")]
        second = await model.ask(history, TOOLS)
        await model.aclose()
        return first, second


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    stage = Stage()
    with stage.server:
        yield stage


def seen(reply: ModelReply) -> tuple[Any, ...]:
    """What is told alike; how much of the output was reasoning is not said in every dialect."""
    assert reply.usage is not None
    usage = msgspec.structs.replace(reply.usage, reasoning_tokens=0)
    return reply.text, reply.calls, reply.finish, usage


REPLIES = {
    "text": say("Hello, häßliche Welt 🙂"),
    "call": say(call("read_file", {"x": "é"})),
    "text and parallel calls": say("Let me look.", call("read_file", {"x": 1}), call("list_files")),
    "call before text": say(call("list_files"), "then"),
    "no arguments": say(call("list_files", "")),
    "nothing": say(""),
    "cut": Reply((Text("half"),), finish="length"),
    "refusal": Reply((Refusal("I cannot."),)),
    "thinking": Reply((Thinking("hm", "sig"), Text("So."), call("list_files"))),
}


@pytest.mark.parametrize("name", REPLIES)
def test_one_reply_is_the_same_in_every_dialect_whole_and_streamed(stage: Stage, name: str) -> None:
    views = {way: stage.ask(REPLIES[name], *way) for way in WAYS}
    first, second = views["chat", False]
    for way, (one, two) in views.items():
        assert seen(one) == seen(first), way
        assert two.text == second.text == "The end."  # what went back was accepted


def test_a_cut_call_keeps_its_half_but_where_input_must_be_an_object(stage: Stage) -> None:
    half = Reply((call("read_file", '{"x": "ha'),), finish="length")
    for way in WAYS:
        cut, after = stage.ask(half, *way)
        assert cut.finish == "length"
        assert cut.calls[0].arguments == ("" if way == ("messages", False) else '{"x": "ha')
        assert after.text == "The end."


def test_a_pause_is_a_pause_and_what_came_goes_back(stage: Stage) -> None:
    for stream in (False, True):
        paused, after = stage.ask(replace(say("Searching."), finish="pause"), "messages", stream)
        assert (paused.finish, paused.text) == ("pause", "Searching.")
        assert after.text


def test_an_error_is_the_same_in_every_dialect(stage: Stage) -> None:
    async def ask(protocol: str, stream: bool) -> ModelError:
        model = make_model(protocol, stage.server.url_for("no-such-script"), stream=stream)
        with pytest.raises(ModelError) as caught:
            await model.ask([Message("user", "hi")], [])
        await model.aclose()
        return caught.value

    for way in WAYS:
        error = asyncio.run(ask(*way))
        assert (error.status, error.retryable, error.partial) == (404, False, None)
        assert "no-such-script" in str(error)


_ARGUMENTS = st.dictionaries(st.text(max_size=3), st.text(max_size=6) | st.integers(), max_size=2)
_CALLS = st.builds(call, st.sampled_from(["read_file", "list_files"]), _ARGUMENTS)


@settings(max_examples=25, deadline=None)
@given(st.text(max_size=20), st.lists(_CALLS, max_size=3))
def test_any_reply_is_the_same_in_every_dialect_whole_and_streamed(
    stage: Stage, text: str, calls: list[Any]
) -> None:
    reply = say(*([text] if text else []), *calls) if text or calls else say("x")
    views = [seen(stage.ask(reply, *way)[0]) for way in WAYS]
    assert views == views[:1] * len(WAYS)
