"""Chat completions: the rest of what an agent's request may ask for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest

from fakeprovider.replies import Refusal, Reply, Text, Thinking, ask, call, say
from fakeprovider.server import Server

REPLIES: dict[str, Reply] = {}
SCHEMA: Any = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
READ: Any = {"type": "function", "function": {"name": "read_file", "parameters": SCHEMA}}
WRITE: Any = {"type": "function", "function": {"name": "write_file"}}
USER: Any = {"role": "user", "content": "go"}


@pytest.fixture(scope="module")
def gpt() -> Iterator[openai.OpenAI]:
    with (
        Server(lambda conversation: REPLIES["now"]) as server,
        openai.OpenAI(base_url=server.base_url, api_key="k", max_retries=0) as client,
    ):
        yield client


def ask_for(gpt: openai.OpenAI, reply: Reply, **rest: Any) -> Any:
    REPLIES["now"] = reply
    return gpt.chat.completions.create(**{"model": "m", "messages": [USER], **rest})


def test_n_choices_are_the_reply_n_times_and_their_output_is_counted(gpt: openai.OpenAI) -> None:
    one = ask_for(gpt, ask("read_file"), tools=[READ])
    two = ask_for(gpt, ask("read_file"), tools=[READ], n=2)
    assert [choice.index for choice in two.choices] == [0, 1]
    assert two.choices[0].message == two.choices[1].message == one.choices[0].message
    assert two.usage.completion_tokens == 2 * one.usage.completion_tokens
    assert two.usage.prompt_tokens == one.usage.prompt_tokens
    assert two.usage.total_tokens == two.usage.prompt_tokens + two.usage.completion_tokens


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_the_journal_has_the_tokens_of_all_choices(stream: bool) -> None:
    """So that a gate on tokens counts what the client was told."""
    body = {"model": "m", "messages": [USER], "stream": stream}
    with Server(lambda conversation: Reply((Thinking("so"), Text("a b")))) as server:
        for number in (1, 3):
            sent = {**body, "n": number}
            httpx.post(f"{server.base_url}/chat/completions", json=sent).raise_for_status()
        one, three = (exchange.usage for exchange in server.journal.exchanges())
    assert one is not None
    assert three is not None
    assert three.completion_tokens == 3 * one.completion_tokens
    assert three.reasoning_tokens == 3 * one.reasoning_tokens > 0
    assert three.prompt_tokens == one.prompt_tokens


def test_choices_of_a_stream_take_turns_and_each_is_whole(gpt: openai.OpenAI) -> None:
    """Fragments belong to (choice, call)."""
    texts = {0: "", 1: ""}
    arguments = {0: "", 1: ""}
    ends = []
    order = []
    for chunk in ask_for(
        gpt, say("A B", call("read_file", {"city": "x"})), tools=[READ], n=2, stream=True
    ):
        choice = chunk.choices[0]
        order.append(choice.index)
        texts[choice.index] += choice.delta.content or ""
        for fragment in choice.delta.tool_calls or ():
            arguments[choice.index] += fragment.function.arguments
        ends += [choice.finish_reason] if choice.finish_reason else []
    assert texts == {0: "A B", 1: "A B"}
    assert arguments == {0: '{"city":"x"}', 1: '{"city":"x"}'}
    assert ends == ["tool_calls", "tool_calls"]
    assert order[:4] == [0, 1, 0, 1]


def test_tool_choice_none_keeps_the_script_from_calling(gpt: openai.OpenAI) -> None:
    message = ask_for(gpt, ask("read_file"), tools=[READ], tool_choice="none").choices[0].message
    assert message.tool_calls is None
    assert message.content


@pytest.mark.parametrize(
    "choice",
    [
        "required",
        {"type": "function", "function": {"name": "read_file"}},
        {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [READ]}},
    ],
)
def test_a_required_or_named_tool_is_called_even_where_the_script_has_words(
    gpt: openai.OpenAI, choice: Any
) -> None:
    found = ask_for(gpt, say("Done."), tools=[WRITE, READ], tool_choice=choice).choices[0]
    assert [c.function.name for c in found.message.tool_calls] == ["read_file"]
    assert found.message.tool_calls[0].function.arguments == '{"city":""}'
    assert found.finish_reason == "tool_calls"


def test_a_required_call_that_nothing_harmless_can_answer_is_an_error_not_words(
    gpt: openai.OpenAI,
) -> None:
    with pytest.raises(openai.BadRequestError, match="demands a tool call"):
        ask_for(gpt, say("Done."), tools=[WRITE], tool_choice="required")
    named: Any = {"type": "function", "function": {"name": "write_file"}}
    found = ask_for(gpt, say("Done."), tools=[WRITE], tool_choice=named).choices[0].message
    assert found.tool_calls[0].function.name == "write_file"  # named by the client itself


@pytest.mark.parametrize(
    "choice", ["sometimes", {"type": "function", "function": {"name": "gone"}}]
)
def test_a_tool_choice_that_does_not_exist_is_a_400(gpt: openai.OpenAI, choice: Any) -> None:
    with pytest.raises(openai.BadRequestError) as raised:
        ask_for(gpt, say("x"), tools=[READ], tool_choice=choice)
    assert raised.value.param == "tool_choice"


def test_without_parallel_calls_only_the_first_is_made(gpt: openai.OpenAI) -> None:
    both = ask("read_file", None, call("read_file"))
    assert len(ask_for(gpt, both, tools=[READ]).choices[0].message.tool_calls) == 2
    one = ask_for(gpt, both, tools=[READ], parallel_tool_calls=False).choices[0].message
    assert [c.id for c in one.tool_calls] == ["fake0"]


@pytest.mark.parametrize(
    ("words", "form", "why"),
    [
        ("Prose.", {"type": "json_object"}, "no JSON"),
        ("[1]", {"type": "json_object"}, "no JSON object"),
        ("Prose.", {"type": "json_schema", "json_schema": {"name": "s", "schema": SCHEMA}}, "JSON"),
        (
            '{"city":1}',
            {"type": "json_schema", "json_schema": {"name": "s", "schema": SCHEMA}},
            "city",
        ),
        (
            "{}",
            {"type": "json_schema", "json_schema": {"name": "s", "schema": {"$ref": "http://x/y"}}},
            "cannot be used",
        ),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_text_that_is_not_in_the_form_asked_for_is_an_error_never_a_200(
    gpt: openai.OpenAI, words: str, form: Any, why: str, stream: bool
) -> None:
    with pytest.raises(openai.BadRequestError, match=why) as raised:
        ask_for(gpt, say(words), response_format=form, stream=stream)
    assert raised.value.code == "response_format_not_met"


@pytest.mark.parametrize(
    "form",
    [
        {"type": "text"},
        {"type": "json_object"},
        {"type": "json_schema", "json_schema": {"name": "s", "schema": SCHEMA, "strict": True}},
    ],
)
def test_text_that_fits_its_form_is_served(gpt: openai.OpenAI, form: Any) -> None:
    found = ask_for(gpt, say('{"city":"Oslo"}'), response_format=form)
    assert found.choices[0].message.content == '{"city":"Oslo"}'


@pytest.mark.parametrize("reply", [ask("read_file"), Reply((Refusal("No."),))])
def test_calls_and_refusals_need_not_be_in_the_form(gpt: openai.OpenAI, reply: Reply) -> None:
    form = {"type": "json_object"}
    assert ask_for(gpt, reply, response_format=form, tools=[READ]).choices[0].message


@pytest.mark.parametrize("stop", ["END", ["zzz", "END", "long"]])
def test_a_stop_word_ends_the_reply_before_it_and_is_not_counted(
    gpt: openai.OpenAI, stop: Any
) -> None:
    found = ask_for(gpt, say("one two END three", call("read_file")), tools=[READ], stop=stop)
    assert found.choices[0].message.content == "one two "
    assert found.choices[0].message.tool_calls is None
    assert found.choices[0].finish_reason == "stop"
    assert found.usage.completion_tokens == ask_for(gpt, say("one two ")).usage.completion_tokens


def test_more_stop_words_than_the_service_takes_are_refused(gpt: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError):
        ask_for(gpt, say("x"), stop=list("abcde"))


def test_refusal_reasoning_usage_details_and_logprobs_have_their_places(
    gpt: openai.OpenAI,
) -> None:
    found = ask_for(gpt, Reply((Thinking("Hm, so."), Refusal("I will not."))))
    message = found.choices[0].message
    assert message.refusal == "I will not."
    assert message.content is None
    assert message.reasoning_content == "Hm, so."
    assert found.choices[0].logprobs is None
    assert found.choices[0].finish_reason == "stop"
    details = found.usage.completion_tokens_details
    assert 0 < details.reasoning_tokens < found.usage.completion_tokens
    assert found.usage.prompt_tokens_details.cached_tokens == 0


def test_reasoning_content_is_absent_where_none_is_scripted(gpt: openai.OpenAI) -> None:
    assert "reasoning_content" not in ask_for(gpt, say("x")).choices[0].message.to_dict()


def test_functions_of_old_are_answered_in_kind(gpt: openai.OpenAI) -> None:
    functions = [{"name": "read_file", "parameters": SCHEMA}]
    first = ask_for(gpt, ask("read_file", {"city": "x"}), functions=functions).choices[0]
    assert first.finish_reason == "function_call"
    assert first.message.function_call.name == "read_file"
    assert first.message.function_call.arguments == '{"city":"x"}'
    assert first.message.tool_calls is None
    history: Any = [
        USER,
        {**first.message.to_dict(), "function_call": first.message.function_call.to_dict()},
        {"role": "function", "name": "read_file", "content": "r"},
    ]
    for turn in range(2):  # the same function again: its name is all the id there is
        again = ask_for(gpt, ask("read_file"), functions=functions, messages=history)
        assert again.id == f"chatcmpl-fake{turn + 1}"
        history += history[1:3]


def test_a_stream_of_the_old_functions_carries_name_then_arguments(gpt: openai.OpenAI) -> None:
    functions = [{"name": "read_file", "parameters": SCHEMA}]
    name = arguments = ""
    for chunk in ask_for(gpt, ask("read_file", {"city": "x"}), functions=functions, stream=True):
        found = chunk.choices[0].delta.function_call
        name += (found and found.name) or ""
        arguments += (found and found.arguments) or ""
        last = chunk.choices[0].finish_reason
    assert (name, arguments, last) == ("read_file", '{"city":"x"}', "function_call")


def test_the_old_choice_of_a_function_is_heard(gpt: openai.OpenAI) -> None:
    functions = [{"name": "read_file", "parameters": SCHEMA}]
    none = ask_for(gpt, ask("read_file"), functions=functions, function_call="none")
    assert none.choices[0].message.function_call is None
    named = ask_for(gpt, say("x"), functions=functions, function_call={"name": "read_file"})
    assert named.choices[0].message.function_call.name == "read_file"


def test_length_reports_exactly_the_cap_and_cuts_a_call_within_its_arguments(
    gpt: openai.OpenAI,
) -> None:
    reply = Reply((Text(""), *ask("read_file", {"city": "hello world " * 20}).blocks))
    found = ask_for(gpt, reply, tools=[READ], max_tokens=40)
    assert found.choices[0].finish_reason == "length"
    assert found.usage.completion_tokens == 40
    arguments = found.choices[0].message.tool_calls[0].function.arguments
    assert arguments.startswith('{"city":"hello')
    assert not arguments.endswith("}")
