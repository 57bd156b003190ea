"""Anthropic Messages: turns that pause and go on, and thinking that must come back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anthropic
import openai
import pytest

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Reply, Text, Thinking, ask, say
from fakeprovider.scripts.steady import SEARCHES, SEARCHING_ANSWER
from fakeprovider.server import Server

TOOLS: Any = [{"name": "list_files", "input_schema": {"type": "object"}}]
ON: Any = {"type": "enabled", "budget_tokens": 1024}
START: Any = {"role": "user", "content": "go"}


def thinker(conversation: Conversation) -> Reply:
    """Thinks before a call, and before the answer."""
    if conversation.turn == 0:
        return Reply((Thinking("I should look."), *ask("list_files").blocks))
    return Reply((Thinking("Now I know."), Text("Done.")))


def plain(conversation: Conversation) -> Reply:
    """Calls a tool without a thought."""
    return ask("list_files") if conversation.turn == 0 else say("Done.")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server("searching", scripts={"thinker": thinker, "plain": plain}) as running:
        yield running


def client(server: Server, script: str = "") -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=server.url_for(script), api_key="x", max_retries=0)


def go_on(claude: anthropic.Anthropic, stream: bool) -> list[Any]:
    """The messages of one turn, the content sent back for as long as it pauses."""
    history: list[Any] = [START]
    got = []
    while True:
        asked: Any = {"model": "m", "max_tokens": 1000, "messages": history}
        if stream:
            with claude.messages.stream(**asked) as events:
                message = events.get_final_message()
        else:
            message = claude.messages.create(**asked)
        got.append(message)
        if message.stop_reason != "pause_turn":
            return got
        history.append({"role": "assistant", "content": message.content})


@pytest.mark.parametrize("stream", [False, True])
def test_a_loop_of_server_side_tools_pauses_at_its_limit_and_goes_on_where_it_paused(
    server: Server, stream: bool
) -> None:
    with client(server) as claude:
        got = go_on(claude, stream)
    assert [message.stop_reason for message in got] == ["pause_turn", "pause_turn", "end_turn"]
    searches = [
        block.input["query"]
        for message in got
        for block in message.content
        if block.type == "server_tool_use"
    ]
    assert searches == [f"timeout {number}" for number in range(SEARCHES)]
    assert [message.usage.server_tool_use.web_search_requests for message in got] == [10, 10, 5]
    assert got[-1].content[-1].text == SEARCHING_ANSWER
    assert len({message.id for message in got}) == 3
    ids = [block.id for m in got for block in m.content if block.type == "server_tool_use"]
    assert len(set(ids)) == SEARCHES


def test_a_pause_is_no_turn_and_no_error_and_its_content_counts_as_input() -> None:
    with Server("searching") as server, client(server) as claude:
        got = go_on(claude, stream=False)
        exchanges = server.journal.exchanges()
    assert [(one.turn, one.status, one.finish) for one in exchanges] == [
        (0, 200, "pause"),
        (0, 200, "pause"),
        (0, 200, "stop"),
    ]
    assert got[1].usage.input_tokens >= got[0].usage.input_tokens


def test_the_limit_is_a_setting() -> None:
    with Server("searching", search_limit=3) as server, client(server) as claude:
        got = go_on(claude, stream=False)
    assert [message.stop_reason for message in got] == ["pause_turn"] * 8 + ["end_turn"]
    with Server("searching", search_limit=100) as server, client(server) as claude:
        assert [message.stop_reason for message in go_on(claude, False)] == ["end_turn"]


def test_other_dialects_do_not_pause(server: Server) -> None:
    with openai.OpenAI(base_url=server.url_for("searching"), api_key="x") as gpt:
        chat = gpt.chat.completions.create(model="m", messages=[START])
        response = gpt.responses.create(model="m", input="go")
        with gpt.responses.stream(model="m", input="go") as events:
            assert events.get_final_response().output_text == SEARCHING_ANSWER
    assert chat.choices[0].message.content == SEARCHING_ANSWER
    assert [item.type for item in response.output] == ["web_search_call"] * SEARCHES + ["message"]


def test_a_scripted_pause_goes_on_with_the_next_turn() -> None:
    def script(conversation: Conversation) -> Reply:
        if conversation.turn < 2:
            return Reply((Text(f"part {conversation.turn}"),), "pause")
        return say("end")

    with Server(script) as server, client(server) as claude:
        got = go_on(claude, stream=False)
    assert [message.content[0].text for message in got] == ["part 0", "part 1", "end"]


def after(message: Any, content: list[Any]) -> Any:
    """The next request: the content given back, and the results of its calls."""
    results = [
        {"type": "tool_result", "tool_use_id": block.id, "content": "r"}
        for block in message.content
        if block.type == "tool_use"
    ]
    return {
        "model": "m",
        "max_tokens": 1000,
        "tools": TOOLS,
        "thinking": ON,
        "messages": [
            START,
            {"role": "assistant", "content": content},
            {"role": "user", "content": results},
        ],
    }


@pytest.fixture
def thought(server: Server) -> Iterator[tuple[anthropic.Anthropic, Any]]:
    with client(server, "thinker") as claude:
        first: Any = {"model": "m", "max_tokens": 1000, "tools": TOOLS, "thinking": ON}
        yield claude, claude.messages.create(messages=[START], **first)


def test_thinking_comes_with_a_signature_and_is_taken_back_unchanged(
    thought: tuple[anthropic.Anthropic, Any],
) -> None:
    claude, message = thought
    assert [block.type for block in message.content] == ["thinking", "tool_use"]
    assert message.content[0].signature
    assert message.usage.output_tokens_details.thinking_tokens > 0
    again = claude.messages.create(**after(message, message.content))
    assert again.content[-1].text == "Done."


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"thinking": "Something else."}, "signature"),
        ({"signature": ""}, "signature"),
        ({"signature": None}, "signature"),
    ],
)
def test_thinking_that_was_changed_is_refused(
    thought: tuple[anthropic.Anthropic, Any], change: dict[str, Any], why: str
) -> None:
    claude, message = thought
    content = [block.to_dict() for block in message.content]
    content[0].update(change)
    with pytest.raises(anthropic.BadRequestError, match=r"messages\.1: .*" + why):
        claude.messages.create(**after(message, content))


def test_thinking_that_was_left_out_while_tools_run_is_refused(
    thought: tuple[anthropic.Anthropic, Any],
) -> None:
    claude, message = thought
    asked = after(message, message.content[1:])
    with pytest.raises(anthropic.BadRequestError, match=r"messages\.1: its thinking block"):
        claude.messages.create(**asked)
    with_text = {**asked, "messages": [*asked["messages"]]}
    with_text["messages"][2] = {
        "role": "user",
        "content": [*asked["messages"][2]["content"], {"type": "text", "text": "go on"}],
    }
    with pytest.raises(anthropic.BadRequestError):
        claude.messages.create(**with_text)
    off = {key: value for key, value in asked.items() if key != "thinking"}
    assert claude.messages.create(**off).content[-1].text == "Done."
    new_turn = {**asked, "messages": [*asked["messages"], {"role": "user", "content": "new"}]}
    assert claude.messages.create(**new_turn)


def test_a_turn_that_had_no_thinking_may_come_back_without(server: Server) -> None:
    with client(server, "plain") as claude:
        first: Any = {"model": "m", "max_tokens": 1000, "tools": TOOLS, "thinking": ON}
        message = claude.messages.create(messages=[START], **first)
        again = claude.messages.create(**after(message, message.content))
    assert again.content[-1].to_dict()["text"] == "Done."


def test_a_lenient_server_lets_it_pass() -> None:
    with Server(thinker, strict=False) as server, client(server) as claude:
        first: Any = {"model": "m", "max_tokens": 1000, "tools": TOOLS, "thinking": ON}
        message = claude.messages.create(messages=[START], **first)
        assert claude.messages.create(**after(message, message.content[1:]))
