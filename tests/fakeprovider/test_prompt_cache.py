"""A simulated prompt cache and OpenAI's own counting rule, as options."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import anthropic
import openai
import pytest

from fakeprovider.parsing.caches import RequestCaches
from fakeprovider.parsing.counting import prompt_tokens
from fakeprovider.parsing.prompt_cache import MINIMUM, STEP, cache_use
from fakeprovider.protocols.chat.dialect import CHAT
from fakeprovider.protocols.messages.dialect import MESSAGES
from fakeprovider.protocols.responses.dialect import RESPONSES
from fakeprovider.server import Server

LONG = "word " * 1500
MARK = {"cache_control": {"type": "ephemeral"}}
TOOLS: Any = [{"type": "function", "function": {"name": "list_files"}}]


def runaway_of(server: Server, turns: int, text: str) -> list[Any]:
    """Usage of each turn of a runaway in the chat dialect."""
    history: list[Any] = [{"role": "user", "content": text}]
    found = []
    with openai.OpenAI(base_url=server.url_for("runaway"), api_key="x") as gpt:
        for _ in range(turns):
            reply = gpt.chat.completions.create(model="m", messages=history, tools=TOOLS)
            found.append(reply.usage)
            message = reply.choices[0].message
            history.append(message.model_dump(exclude_none=True))
            history += [
                {"role": "tool", "tool_call_id": call.id, "content": "x" * 300}
                for call in message.tool_calls or ()
            ]
    return found


def test_off_by_default_and_prompt_tokens_do_not_change() -> None:
    with Server() as plain, Server(prompt_cache=True) as caching:
        without = runaway_of(plain, 4, LONG)
        cached = runaway_of(caching, 4, LONG)
    assert [usage.prompt_tokens for usage in without] == [usage.prompt_tokens for usage in cached]
    assert all(usage.prompt_tokens_details.cached_tokens == 0 for usage in without)
    assert cached[0].prompt_tokens_details.cached_tokens == 0


def test_chat_reads_the_previous_prompt_in_steps_from_the_minimum_on() -> None:
    with Server(prompt_cache=True) as server:
        usages = runaway_of(server, 30, "short")
    for before, usage in pairwise(usages):
        cached = usage.prompt_tokens_details.cached_tokens
        assert cached % STEP == 0
        if before.prompt_tokens < MINIMUM - 2:
            assert cached == 0
        elif before.prompt_tokens > MINIMUM + 2:
            assert before.prompt_tokens - STEP - 2 < cached <= before.prompt_tokens + 2
    assert usages[-1].prompt_tokens_details.cached_tokens > MINIMUM


def claude(server: Server, history: list[Any], **rest: Any) -> Any:
    with anthropic.Anthropic(base_url=server.url_for("runaway"), api_key="x") as client:
        return client.messages.create(
            model="m",
            max_tokens=999,
            messages=history,
            tools=[{"name": "list_files", "input_schema": {"type": "object"}}],
            **rest,
        ).usage


ASKED: Any = [
    {"role": "user", "content": LONG},
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "fake0", "name": "list_files", "input": {}}],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "fake0", "content": LONG}]},
]


def test_messages_reads_and_writes_up_to_the_mark_beside_input_tokens() -> None:
    with Server(prompt_cache=True) as server:
        none = claude(server, ASKED)
        first = claude(server, ASKED[:1], cache_control=MARK["cache_control"])
        second = claude(server, ASKED, cache_control=MARK["cache_control"])
    assert none.cache_read_input_tokens == none.cache_creation_input_tokens == 0
    assert first.cache_read_input_tokens == 0
    assert first.cache_creation_input_tokens > 1500
    assert abs(second.cache_read_input_tokens - first.cache_creation_input_tokens) <= 2
    assert second.cache_creation.ephemeral_5m_input_tokens == second.cache_creation_input_tokens
    total = sum(
        (second.input_tokens, second.cache_read_input_tokens, second.cache_creation_input_tokens)
    )
    assert total == none.input_tokens


def test_a_mark_on_the_system_prompt_caches_no_more_than_that() -> None:
    system = [{"type": "text", "text": LONG, **MARK}]
    with Server(prompt_cache=True) as server:
        first = claude(server, ASKED[:1], system=system)
        second = claude(server, ASKED, system=system)
    assert first.cache_creation_input_tokens == second.cache_read_input_tokens > 1500
    assert second.cache_creation_input_tokens == 0
    assert second.input_tokens > first.input_tokens > 1500


@pytest.mark.parametrize("marked", [0, 2])
def test_what_was_read_before_does_not_change_what_is_cached(marked: int) -> None:
    """A mark counts wherever it stands, also in what was remembered of an earlier request."""
    history = json.loads(json.dumps(ASKED))
    if isinstance(history[marked]["content"], str):
        history[marked]["content"] = [{"type": "text", "text": LONG}]
    history[marked]["content"][-1].update(MARK)
    caches = RequestCaches()
    for length in (1, 3):
        body = json.dumps({"model": "m", "max_tokens": 9, "messages": history[:length]}).encode()
        found = MESSAGES.parse(body, caches)
        assert cache_use(found) == cache_use(MESSAGES.parse(body, RequestCaches()))
    assert cache_use(found)[0] > 1500


def test_responses_reads_the_same_with_history_or_with_a_previous_id() -> None:
    with (
        Server("runaway", prompt_cache=True) as server,
        openai.OpenAI(base_url=server.base_url, api_key="x") as gpt,
    ):
        asked: Any = {"model": "m", "tools": [{"type": "function", "name": "list_files"}]}
        first = gpt.responses.create(input=LONG, **asked)
        output: Any = {"type": "function_call_output", "call_id": "fake0", "output": "r"}
        items: Any = [{"role": "user", "content": LONG}, *first.to_dict()["output"], output]
        whole = gpt.responses.create(input=items, **asked).usage
        short = gpt.responses.create(input=[output], previous_response_id=first.id, **asked).usage
    assert whole is not None
    assert short == whole
    assert whole.input_tokens_details.cached_tokens > MINIMUM


WEATHER: Any = {
    "name": "get_current_weather",
    "description": "Get the current weather in a given location",
    "parameters": {
        "type": "object",
        "properties": {
            "location": {
                "type": "string",
                "description": "The city and state, e.g. San Francisco, CA",
            },
            "unit": {
                "type": "string",
                "description": "The unit of temperature to return",
                "enum": ["celsius", "fahrenheit"],
            },
        },
        "required": ["location"],
    },
}
TOLD = "You are a helpful assistant that can answer to questions about the weather."
QUESTION = "What's the weather like in San Francisco?"


def test_the_openai_rule_gives_the_cookbooks_figure_in_each_dialect() -> None:
    """101 is what the cookbook printed for its rule and for the live service alike."""
    user = {"role": "user", "content": QUESTION}
    asked: list[tuple[Any, dict[str, Any]]] = [
        (
            CHAT,
            {
                "messages": [{"role": "system", "content": TOLD}, user],
                "tools": [{"type": "function", "function": WEATHER}],
            },
        ),
        (
            MESSAGES,
            {
                "max_tokens": 9,
                "system": TOLD,
                "messages": [user],
                "tools": [
                    {
                        "name": WEATHER["name"],
                        "description": WEATHER["description"],
                        "input_schema": WEATHER["parameters"],
                    }
                ],
            },
        ),
        (
            RESPONSES,
            {
                "instructions": TOLD,
                "input": QUESTION,
                "tools": [{"type": "function", **WEATHER}],
            },
        ),
    ]
    for dialect, body in asked:
        found = dialect.parse(json.dumps({"model": "gpt-4o", **body}).encode(), RequestCaches())
        assert prompt_tokens(found) == 101


def test_the_openai_rule_is_an_option_of_the_server_and_count_tokens_follows_it() -> None:
    body: Any = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    with Server(count="openai") as server:
        with anthropic.Anthropic(base_url=server.url, api_key="x") as client:
            counted = client.messages.count_tokens(**body).input_tokens
            usage = client.messages.create(max_tokens=99, **body).usage
        with openai.OpenAI(base_url=server.base_url, api_key="x") as gpt:
            first = gpt.responses.create(model="m", input="hi")
            with pytest.raises(openai.BadRequestError, match="whole history"):
                gpt.responses.create(model="m", input="a", previous_response_id=first.id)
    assert counted == usage.input_tokens == 3 + 1 + 1 + 3
