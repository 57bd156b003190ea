"""The provider without a socket: the same bytes, for every kind of client."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator

import httpx
import pytest

from fakeprovider import Pace, Reply, Text, ask, say
from fakeprovider.testing import FakeProvider

BODY = {"model": "m", "messages": [{"role": "user", "content": "x"}]}


@pytest.fixture(scope="module")
def provider() -> Iterator[FakeProvider]:
    with FakeProvider() as running:
        yield running


def test_replies_and_streams_are_those_of_the_socket(provider: FakeProvider) -> None:
    for body in (BODY, {**BODY, "stream": True}):
        told = []
        for in_process in (True, False):
            with provider.run(say("Hello there."), in_process=in_process) as run:
                transport = run.transport if in_process else None
                with httpx.Client(transport=transport, timeout=60) as client:
                    answer = client.post(f"{run.base_url}/chat/completions", json=body)
                told.append((answer.status_code, answer.content, run.requests[0].digest))
        assert told[0] == told[1]


def test_no_server_is_started_for_runs_in_process() -> None:
    with FakeProvider() as provider, provider.run("plan", in_process=True) as run:
        before = threading.active_count()
        with httpx.Client(transport=run.transport) as client:
            assert client.post(f"{run.base_url}/chat/completions", json=BODY).status_code == 200
        assert threading.active_count() == before
        assert "//127.0.0.1:0/" in run.base_url


def test_a_reply_that_is_cut_off_is_an_error_of_the_connection(provider: FakeProvider) -> None:
    for fault in ("reset", "close_mid_body", "reset_mid_body"):
        with (
            provider.run("plan", fault=fault, in_process=True) as run,
            httpx.Client(transport=run.transport) as client,
            pytest.raises(httpx.RemoteProtocolError),
        ):
            client.post(f"{run.base_url}/chat/completions", json=BODY)
        assert run.requests[0].fault == fault


def test_a_client_that_leaves_is_seen(provider: FakeProvider) -> None:
    async def leave() -> float:
        slow = Reply((Text("late"),), pace=Pace(first_token=60))
        with provider.run(slow, in_process=True, check=False) as run:
            async with httpx.AsyncClient(transport=run.transport) as client:
                begun = time.monotonic()
                asked = client.post(f"{run.base_url}/chat/completions", json=BODY)
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(asked, 0.05)
            assert run.requests[0].cancelled
            return time.monotonic() - begun

    assert asyncio.run(leave()) < 30  # of the sixty that the reply takes


def test_a_sync_client_inside_an_event_loop_works(provider: FakeProvider) -> None:
    async def main(run_url: str, transport: httpx.BaseTransport) -> int:
        with httpx.Client(transport=transport) as client:
            return client.post(f"{run_url}/chat/completions", json=BODY).status_code

    with provider.run("plan", in_process=True) as run:
        assert asyncio.run(main(run.base_url, run.transport)) == 200


def test_many_threads_at_once_get_their_own_replies(provider: FakeProvider) -> None:
    """Eight threads, forty requests each: the provider is never in two of them at once."""
    wrong: list[str] = []

    def work(name: str) -> None:
        with provider.run([ask("a"), say(name)], in_process=True, check=False) as run:
            for number in range(20):
                body = {**BODY, "messages": [{"role": "user", "content": f"{name} {number}"}]}
                with httpx.Client(transport=run.transport) as client:
                    answer = client.post(f"{run.base_url}/chat/completions", json=body)
                if answer.status_code != 200 or len(run.requests) != number + 1:
                    wrong.append(answer.text)

    threads = [threading.Thread(target=work, args=(f"t{n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
