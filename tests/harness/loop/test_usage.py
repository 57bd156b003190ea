"""Public reports about usage that nobody reports, over a real socket in every dialect."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Pace, Reply
from fakeprovider.replies import say as words
from fakeprovider.server import Server
from fakeprovider_harness import (
    Cancel,
    MaxTokens,
    MaxTurns,
    Price,
    RunState,
    Settings,
    arun,
    say,
    tool,
)
from fakeprovider_harness.models import PROTOCOLS, Model, make_model
from fakeprovider_harness.verify import Evaluator

WORDS = 500


def talker(conversation: Conversation) -> Reply:
    """Says five hundred words, one after the other; then that it is done."""
    if conversation.seen("be brief"):
        return words("done")
    return Reply(words("word " * WORDS).blocks, pace=Pace(tokens_per_second=1_500))


def drone(conversation: Conversation) -> Reply:
    """Takes its time."""
    return Reply(words("word " * WORDS).blocks, pace=Pace(tokens_per_second=50))


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server("runaway", scripts={"talker": talker, "drone": drone}) as server:
        yield server


@tool(read_only=True)
def list_files() -> str:
    """List the files."""
    return "[]"


def go(model: Model, state: RunState | None = None, **given: Any) -> RunState:
    async def drive() -> RunState:
        try:
            return await arun(
                state or RunState.start("task"), model=model, tools=[list_files], **given
            )
        finally:
            await model.aclose()

    return asyncio.run(drive())


@pytest.mark.parametrize("dialect", PROTOCOLS)
@pytest.mark.parametrize("stream", [True, False])
def test_a_budget_ends_a_run_though_no_reply_ever_says_what_it_used(
    server: Server, dialect: str, stream: bool
) -> None:
    run_key = f"missing-{dialect}-{stream}"
    url = server.url_for("runaway;fault=usage_missing", run=run_key)
    model = make_model(dialect, url, "runaway", stream=stream)
    state = go(model, stop=MaxTokens(2_000) | MaxTurns(40))
    assert (state.reason, state.estimated) == ("max_tokens", True)
    used = [exchange.usage for exchange in server.journal.exchanges(run_key)]
    assert len(used) == len(state.turns) > 1
    assert state.input_tokens >= sum(usage.prompt_tokens for usage in used if usage)
    assert state.output_tokens >= sum(usage.completion_tokens for usage in used if usage)


def test_or_ends_after_the_first_reply_where_usage_is_required(server: Server) -> None:
    model = make_model("chat", server.url_for("runaway;fault=usage_missing"), stream=True)
    state = go(model, stop=MaxTurns(40), settings=Settings(usage="require"))
    assert (state.reason, len(state.turns)) == ("usage_unknown", 1)
    assert state.input_tokens > 0


@pytest.mark.parametrize("dialect", PROTOCOLS)
def test_a_stream_that_is_cut_off_is_charged_for_what_came_and_once(
    server: Server, dialect: str
) -> None:
    signal, pieces = Cancel(), []

    def hear(text: str) -> None:
        pieces.append(text)
        if sum(map(len, pieces)) >= 300 * len("word "):
            signal.set("enough")

    url = server.url_for("talker")
    model = make_model(dialect, url, "talker", stream=True)
    price = Price("1", "10")
    state = go(model, stop=None, price=price, cancel=signal, on_text=hear)
    (lost,) = state.lost
    assert (state.reason, lost.usage.estimated) == ("enough", True)
    assert lost.usage.completion_tokens >= 300
    assert lost.usage.prompt_tokens >= 5
    assert state.cost_usd == lost.cost_usd == price.cost(lost.usage)
    cut_off = make_model(dialect, url, "talker", stream=True)
    state = go(cut_off, say(state, "be brief"), stop=None, price=price)
    assert (state.status, state.answer) == ("completed", "done")
    assert len(state.lost) == 1, "the request that was cut off is not charged again"
    (turn,) = state.turns
    assert state.output_tokens == lost.usage.completion_tokens + turn.usage.completion_tokens


def test_an_evaluator_that_is_cut_off_is_charged_too(server: Server) -> None:
    signal = Cancel()
    judge = make_model("chat", server.url_for("drone"), "drone", stream=True)

    async def drive() -> RunState:
        state = RunState.start("task")
        asyncio.get_running_loop().call_later(1.0, signal.set, "enough")
        model = make_model("chat", server.url_for("judge"), "judge")  # it says something
        await arun(state, model=model, stop=None, cancel=signal, verify=Evaluator(judge, "g"))
        await model.aclose()
        await judge.aclose()
        return state

    state = asyncio.run(drive())
    (check,) = state.beside
    assert (state.reason, check.purpose, check.usage.estimated) == ("enough", "check", True)
    assert state.input_tokens == state.turns[0].usage.prompt_tokens + check.usage.prompt_tokens
