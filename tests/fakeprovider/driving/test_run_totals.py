"""What a run comes to: a request that repeats one is a retry only where that one had failed."""

from __future__ import annotations

import os
import subprocess
import threading
from typing import Any

import httpx
import msgspec
import pytest
from driven_agents import agent

from fakeprovider.driving.gates import RunTotals
from fakeprovider.journal import Exchange, Usage
from fakeprovider.server import Server

USER = {"role": "user", "content": "Which file?"}
TOOLS = [{"type": "function", "function": {"name": name}} for name in ("list_files", "read_file")]


def post(server: Server, run: str, **headers: str) -> httpx.Response:
    return httpx.post(
        f"{server.url_for('plan', run=run)}/chat/completions",
        json={"model": "m", "messages": [USER], "tools": TOOLS},
        headers=headers,
        timeout=60,
    )


def totals_of(server: Server, run: str) -> RunTotals:
    totals = RunTotals()
    for exchange in server.journal.exchanges(run):
        totals.add(exchange)
    return totals


def test_a_retry_by_its_own_word_gets_the_same_reply_and_is_counted_as_one(
    server: Server,
) -> None:
    first = post(server, "a23")
    second = post(server, "a23", **{"x-stainless-retry-count": "1"})
    assert first.content == second.content
    assert [one.attempt for one in server.journal.exchanges("a23")] == [0, 1]
    assert totals_of(server, "a23").retries == 1


def test_the_same_body_on_purpose_is_no_retry(server: Server) -> None:
    assert post(server, "twice").content == post(server, "twice").content
    assert totals_of(server, "twice").retries == 0


@pytest.mark.parametrize("failed", [{"cancelled": True}, {"status": 503, "finish": ""}])
def test_the_same_body_after_it_failed_is_a_retry(failed: dict[str, Any]) -> None:
    totals = RunTotals()
    answered = Exchange(digest="d", finish="stop", usage=Usage(10, 5))
    totals.add(msgspec.structs.replace(answered, **failed))
    totals.add(answered)
    totals.add(answered)  # and once more, on purpose
    assert (totals.requests, totals.turns, totals.retries) == (3, 2, 1)
    assert totals.tokens == 30


def test_two_runs_that_look_alike_have_journals_of_their_own_and_no_false_retry(
    server: Server,
) -> None:
    ready = threading.Barrier(2)

    def run(key: str) -> None:
        client = {**os.environ, "OPENAI_BASE_URL": server.url_for("plan", run=key)}
        ready.wait()
        subprocess.run(agent(), env=client, check=True, timeout=60)

    threads = [threading.Thread(target=run, args=(key,)) for key in ("left", "right")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for key in ("left", "right"):
        assert [one.turn for one in server.journal.exchanges(key)] == [0, 1, 2]
        assert totals_of(server, key).retries == 0
