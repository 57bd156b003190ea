"""Whole and streamed replies are one reply, and the official SDKs take both: the referees.

Every example goes over a real socket, through the public API of the SDK.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anthropic
import openai
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openai.types.chat import ChatCompletion
from openai.types.responses import Response

from fakeprovider.replies import Refusal, Reply, Text, Thinking, ToolCall, call, say
from fakeprovider.server import Server

REPLIES: dict[str, Reply] = {}
TOOLS = ("f", "get_weather", "a-b_C9")

words = st.text(st.characters(codec="utf-8"), max_size=40)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
calls = st.builds(call, st.sampled_from(TOOLS), st.dictionaries(words, json_values, max_size=3))
spoken = st.builds(Text, words.filter(bool))
thought = st.builds(Thinking, words.filter(bool))
blocks = st.lists(spoken | calls | thought, max_size=5).map(tuple)
replies = st.builds(Reply, blocks) | st.builds(Reply, st.tuples(st.builds(Refusal, words)))
caps = st.none() | st.integers(1, 60)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(lambda conversation: REPLIES[conversation.model]) as running:
        yield running


@pytest.fixture(scope="module")
def gpt(server: Server) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=server.base_url, api_key="k", max_retries=0) as client:
        yield client


@pytest.fixture(scope="module")
def claude(server: Server) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=server.url, api_key="k", max_retries=0) as client:
        yield client


def examples(count: int) -> Any:
    return settings(
        max_examples=count,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )


CHAT: Any = {
    "model": "now",
    "messages": [{"role": "user", "content": "go"}],
    "tools": [{"type": "function", "function": {"name": name}} for name in TOOLS],
}
MESSAGES: Any = {
    "model": "now",
    "messages": [{"role": "user", "content": "go"}],
    "tools": [{"name": name, "input_schema": {"type": "object"}} for name in TOOLS],
}
RESPONSES: Any = {
    "model": "now",
    "input": "go",
    "tools": [
        {"type": "function", "name": name, "parameters": {"type": "object"}, "strict": False}
        for name in TOOLS
    ],
}


def strict(kind: Any, found: Any) -> dict[str, Any]:
    """What an SDK made of a reply, as its own model takes it without any leniency."""
    plain = found.to_dict(mode="json")
    kind.model_validate(plain)
    return dict(plain)


def without(value: Any, *names: str) -> Any:
    """A copy without the keys that only an SDK's helper adds, at any depth."""
    if isinstance(value, dict):
        return {key: without(one, *names) for key, one in value.items() if key not in names}
    return [without(one, *names) for one in value] if isinstance(value, list) else value


def collect(gpt: openai.OpenAI, asked: dict[str, Any]) -> Any:
    """The completion that the SDK's helper makes of a stream, cut or not."""
    with gpt.chat.completions.stream(**asked, stream_options={"include_usage": True}) as stream:
        try:
            return stream.get_final_completion()
        except openai.LengthFinishReasonError as cut:
            return cut.completion


def said(completion: dict[str, Any], *names: str) -> Any:
    """The first choice, less what is null: the helper adds fields that say nothing."""
    choice = without(completion["choices"][0], *names)
    message = {key: value for key, value in choice["message"].items() if value is not None}
    return message, choice["finish_reason"]


@examples(50)
@given(reply=replies, cap=caps)
def test_a_chat_stream_adds_up_to_the_whole_completion(
    gpt: openai.OpenAI, reply: Reply, cap: int | None
) -> None:
    REPLIES["now"] = reply
    asked = {**CHAT, "max_tokens": cap} if cap else CHAT
    whole = strict(ChatCompletion, gpt.chat.completions.create(**asked))
    streamed = strict(ChatCompletion, collect(gpt, asked))
    names = ("parsed", "parsed_arguments", "index", "annotations")
    assert said(streamed, *names) == said(whole, *names)
    assert streamed["usage"] == whole["usage"]
    assert streamed["id"] == whole["id"]
    assert streamed["model"] == whole["model"]


@examples(50)
@given(reply=replies, cap=st.integers(1, 60) | st.just(10_000))
def test_a_messages_stream_adds_up_to_the_whole_message(
    claude: anthropic.Anthropic, reply: Reply, cap: int
) -> None:
    REPLIES["now"] = reply
    whole = strict(anthropic.types.Message, claude.messages.create(**MESSAGES, max_tokens=cap))
    with claude.messages.stream(**MESSAGES, max_tokens=cap) as stream:
        streamed = strict(anthropic.types.Message, stream.get_final_message())
    assert without(streamed, "parsed_output") == whole


@examples(50)
@given(reply=replies, cap=caps)
def test_a_responses_stream_adds_up_to_the_whole_response(
    gpt: openai.OpenAI, reply: Reply, cap: int | None
) -> None:
    REPLIES["now"] = reply
    asked = {**RESPONSES, "max_output_tokens": cap} if cap else RESPONSES
    whole = strict(Response, gpt.responses.create(**asked))
    deltas: dict[str, str] = {}
    numbers = []
    for event in gpt.responses.create(**asked, stream=True):
        numbers.append(event.sequence_number)
        if event.type.endswith(".delta"):
            deltas[event.item_id] = deltas.get(event.item_id, "") + event.delta
        if event.type.endswith("_text.done"):
            assert deltas.get(event.item_id, "").endswith(event.text)
    assert numbers == list(range(len(numbers)))
    assert event.type == f"response.{whole['status']}"
    assert strict(Response, event.response) == whole
    for item in whole["output"]:
        said = item.get("arguments") or "".join(
            part.get("text") or part.get("refusal") or ""
            for part in item.get("content") or item.get("summary") or ()
        )
        assert deltas.get(item["id"], "") == said


def test_the_responses_helper_takes_the_stream(gpt: openai.OpenAI) -> None:
    REPLIES["now"] = say("Let me look.", call("f", {"a": 1}), "then")
    with gpt.responses.stream(**RESPONSES) as stream:
        final = stream.get_final_response()
    assert [item.type for item in final.output] == ["message", "function_call", "message"]
    assert final.output_text == "Let me look.then"


def test_a_call_before_text_stays_before_it_in_every_dialect(
    gpt: openai.OpenAI, claude: anthropic.Anthropic
) -> None:
    """Order as scripted, whole and streamed."""
    REPLIES["now"] = say(call("f", {"a": 1}), "then")
    whole = claude.messages.create(**MESSAGES, max_tokens=1000)
    assert [block.type for block in whole.content] == ["tool_use", "text"]
    assert [item.type for item in gpt.responses.create(**RESPONSES).output] == [
        "function_call",
        "message",
    ]
    kinds = []
    for chunk in gpt.chat.completions.create(**CHAT, stream=True):
        delta = chunk.choices[0].delta
        kinds += ["call"] if delta.tool_calls else ["text"] if delta.content else []
    assert kinds.index("call") < kinds.index("text")


@pytest.mark.parametrize(
    ("finish", "stop_reason", "status", "chat"),
    [
        (None, "end_turn", ("completed", None), "stop"),
        ("length", "max_tokens", ("incomplete", "max_output_tokens"), "length"),
        ("content_filter", "refusal", ("incomplete", "content_filter"), "content_filter"),
        ("refusal", "refusal", ("completed", None), "stop"),
        ("stop_sequence", "stop_sequence", ("completed", None), "stop"),
        ("pause", "pause_turn", ("completed", None), "stop"),
        (
            "context_window",
            "model_context_window_exceeded",
            ("incomplete", "max_output_tokens"),
            "length",
        ),
    ],
)
def test_every_way_to_end_has_its_word_in_each_dialect(
    gpt: openai.OpenAI,
    claude: anthropic.Anthropic,
    finish: Any,
    stop_reason: str,
    status: tuple[str, str | None],
    chat: str,
) -> None:
    REPLIES["now"] = Reply((Text("Words."),), finish)
    message = claude.messages.create(**MESSAGES, max_tokens=1000)
    assert message.stop_reason == stop_reason
    assert (message.stop_details is not None) == (stop_reason == "refusal")
    response = gpt.responses.create(**RESPONSES)
    details = response.incomplete_details
    assert (response.status, details and details.reason) == status
    assert gpt.chat.completions.create(**CHAT).choices[0].finish_reason == chat


def test_malformed_arguments_go_out_as_written_or_wrapped_where_an_object_must_stand(
    gpt: openai.OpenAI, claude: anthropic.Anthropic
) -> None:
    REPLIES["now"] = Reply((ToolCall("f", '["no object"]'),))
    chat = gpt.chat.completions.create(**CHAT).choices[0].message.tool_calls
    assert chat is not None
    assert chat[0].function.arguments == '["no object"]'  # type: ignore[union-attr]
    block = claude.messages.create(**MESSAGES, max_tokens=1000).content[0]
    assert block.to_dict()["input"] == {"INVALID_JSON": '["no object"]'}


def test_half_a_character_in_a_script_goes_out_as_the_replacement_character(
    gpt: openai.OpenAI, claude: anthropic.Anthropic
) -> None:
    """No UTF-8 can carry a lone surrogate; sending one all the same is a fault by name."""
    REPLIES["now"] = say("a\ud800b", call("f", '{"x":"\ud800"}'))
    for stream in (False, True):
        body = {**MESSAGES, "max_tokens": 1000}
        if stream:
            with claude.messages.stream(**body) as events:
                message = events.get_final_message()
        else:
            message = claude.messages.create(**body)
        assert [block.to_dict().get("text") for block in message.content] == ["a\ufffdb", None]
        assert message.content[1].to_dict()["input"] == {"x": "\ufffd"}
    assert gpt.chat.completions.create(**CHAT).choices[0].message.content == "a\ufffdb"
    assert gpt.responses.create(**RESPONSES).output_text == "a\ufffdb"


def test_a_stop_sequence_is_named_where_the_client_gave_one(claude: anthropic.Anthropic) -> None:
    REPLIES["now"] = say("one END two")
    found = claude.messages.create(**MESSAGES, max_tokens=99, stop_sequences=["x", "END"])
    assert (found.stop_reason, found.stop_sequence) == ("stop_sequence", "END")
    assert found.content[0].to_dict()["text"] == "one "
    with claude.messages.stream(**MESSAGES, max_tokens=99, stop_sequences=["x", "END"]) as events:
        assert events.get_final_message().stop_sequence == "END"
    REPLIES["now"] = Reply((Text("one"),), "stop_sequence")
    found = claude.messages.create(**MESSAGES, max_tokens=99, stop_sequences=["x", "END"])
    assert found.stop_sequence == "x"


def test_numbers_in_a_tool_input_keep_their_digits(claude: anthropic.Anthropic) -> None:
    REPLIES["now"] = Reply((ToolCall("f", '{"a":1.50,"b":12345678901234567890}'),))
    raw = claude.messages.with_raw_response.create(**MESSAGES, max_tokens=1000)
    assert '"input":{"a":1.50,"b":12345678901234567890}' in raw.text()
