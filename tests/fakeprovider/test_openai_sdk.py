"""The official openai SDK, as a referee, against a real `fakeprovider serve`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from openai.types.chat import ChatCompletion
from processes import Process

from fakeprovider.server import Server

FIGURES = ([204, 269, 342], [23, 29, 18])


@pytest.fixture(scope="module")
def client(served: Process) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=served.base_url, api_key="any", max_retries=0) as found:
        yield found


def follow(messages: list[Any], completion: ChatCompletion, workspace: Any) -> bool:
    """Append the SDK's own message object and the tools' results; whether to go on."""
    message = completion.choices[0].message
    messages.append(message)
    for call in message.tool_calls or ():
        assert call.type == "function"
        text = workspace.tool(call.function.name, call.function.arguments)
        messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
    return bool(message.tool_calls)


def check(turns: list[ChatCompletion], figures: dict[str, Any]) -> None:
    """The SDK's parsed objects say what the wire says."""
    usage = [turn.usage for turn in turns]
    assert all(usage)
    assert [one.prompt_tokens for one in usage if one] == figures["plan"]["prompt_tokens"]
    assert [one.completion_tokens for one in usage if one] == figures["plan"]["completion_tokens"]
    assert [turn.id for turn in turns] == ["chatcmpl-fake0", "chatcmpl-fake1", "chatcmpl-fake2"]
    calls = [call.id for turn in turns for call in turn.choices[0].message.tool_calls or ()]
    assert calls == ["fake0", "fake1"]
    assert [turn.choices[0].finish_reason for turn in turns] == ["tool_calls", "tool_calls", "stop"]
    assert turns[-1].choices[0].message.content == figures["plan"]["answer"]


def test_sync(client: openai.OpenAI, workspace: Any, figures: dict[str, Any]) -> None:
    """`plan` to its end, with the SDK's message objects sent back as they are."""
    messages, turns = workspace.opening(), []
    going = True
    while going:
        turns.append(
            client.chat.completions.create(model="plan", messages=messages, tools=workspace.TOOLS)
        )
        going = follow(messages, turns[-1], workspace)
    check(turns, figures)


def test_async(served: Process, workspace: Any, figures: dict[str, Any]) -> None:
    """The same with the async client."""

    async def run() -> list[ChatCompletion]:
        messages, turns = workspace.opening(), []
        async with openai.AsyncOpenAI(base_url=served.base_url, api_key="any") as client:
            going = True
            while going:
                turns.append(
                    await client.chat.completions.create(
                        model="plan", messages=messages, tools=workspace.TOOLS
                    )
                )
                going = follow(messages, turns[-1], workspace)
        return turns

    check(asyncio.run(run()), figures)


def test_streamed(client: openai.OpenAI, workspace: Any, figures: dict[str, Any]) -> None:
    """The SDK's own accumulator makes of the stream what the whole reply is."""
    messages, turns = workspace.opening(), []
    going = True
    while going:
        with client.chat.completions.stream(
            model="plan",
            messages=messages,
            tools=workspace.TOOLS,
            stream_options={"include_usage": True},
        ) as stream:
            turns.append(stream.get_final_completion())
        whole = client.chat.completions.create(
            model="plan", messages=messages, tools=workspace.TOOLS
        )
        ours, theirs = whole.choices[0].message, turns[-1].choices[0].message
        assert (ours.content, ours.tool_calls and ours.tool_calls[0].to_dict()) == (
            theirs.content,
            theirs.tool_calls and _without_stream(theirs.tool_calls[0].to_dict()),
        )
        assert whole.usage == turns[-1].usage
        going = follow(messages, turns[-1], workspace)
    check(turns, figures)


def _without_stream(call: dict[str, Any]) -> dict[str, Any]:
    """Less what the stream helper adds of its own."""
    call = {key: value for key, value in call.items() if key != "index"}
    call["function"].pop("parsed_arguments", None)
    return call


def test_models(client: openai.OpenAI) -> None:
    """The list of models is the list of scripts."""
    names = {model.id for model in client.models.list()}
    assert {"plan", "runaway", "recover", "denied", "destructive", "duplicate", "slow"} <= names


def test_an_unknown_script_is_a_not_found_error(served: Process, workspace: Any) -> None:
    """It names what there is."""
    client = openai.OpenAI(base_url=f"{served.url}/plam/v1", api_key="any")
    with pytest.raises(openai.NotFoundError, match=r"no script named 'plam'; there are: .*plan"):
        client.chat.completions.create(model="m", messages=workspace.opening())


def test_a_script_that_runs_out_is_not_retried(server: Server, workspace: Any) -> None:
    """One request, a 400 that names the turn and the last message."""
    client = openai.OpenAI(base_url=server.url_for("plan", run="ran-out"), api_key="any")
    messages = workspace.opening()
    for index in range(3):
        messages.append({"role": "assistant", "content": f"turn {index}"})
    messages.append({"role": "user", "content": "and now?"})
    with pytest.raises(openai.BadRequestError, match=r"no turn 3 .*'user': 'and now\?'") as caught:
        client.chat.completions.create(model="m", messages=messages)
    assert caught.value.response.headers["x-should-retry"] == "false"
    assert len(server.journal.exchanges("ran-out")) == 1
