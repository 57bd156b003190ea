"""One request in time: silence, cancellation, and sockets that are used again or closed."""

from __future__ import annotations

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from fakeprovider_harness.cancel import Cancel
from fakeprovider_harness.models import (
    ChatModel,
    Message,
    ModelCancelled,
    ModelError,
    ModelReply,
    Timeouts,
    Usage,
)

if TYPE_CHECKING:
    from tests.harness.conftest import FakeTime, Wire

USER = [Message("user", "hi")]


# ---------------------------------------------------------------- silence


def _timed(fake_time: Any, transport: Any, **limits: float | None) -> tuple[Any, float]:
    """The reply or error, and the moment at which it came, on a clock that starts at 0."""

    async def ask() -> tuple[Any, float]:
        limits.setdefault("total", None)
        model = ChatModel("http://x", stream=True, timeouts=Timeouts(**limits), transport=transport)
        try:
            result: Any = await model.ask(USER, [])
        except ModelError as error:
            result = error
        return result, asyncio.get_running_loop().time()

    return fake_time.run(ask())


def test_a_stream_that_falls_silent_is_an_error_after_the_stall(
    wire: type[Wire], fake_time: type[FakeTime]
) -> None:
    delta = wire.D({"content": "x"})
    error, at = _timed(fake_time, fake_time.transport(delta, 1.0, delta, 3600.0), stall=2)
    assert at == pytest.approx(3.0)
    assert "silent for 2 s" in str(error)
    assert (error.retryable, error.partial.text) == (True, "xx")


def test_no_first_event_is_an_error_after_first(
    wire: type[Wire], fake_time: type[FakeTime]
) -> None:
    for transport in (fake_time.transport(3600.0), fake_time.transport(before_headers=3600.0)):
        error, at = _timed(fake_time, transport, first=2, stall=1)
        assert at == pytest.approx(2.0)
        assert "no first event within 2 s" in str(error)
        assert error.retryable


def test_a_slow_stream_that_never_stalls_completes(
    wire: type[Wire], fake_time: type[FakeTime]
) -> None:
    steps = [wire.D({"content": "x"}), 1.5] * 40
    transport = fake_time.transport(*steps, wire.F("stop"), wire.DONE)
    reply, at = _timed(fake_time, transport, stall=2)
    assert reply.text == "x" * 40
    assert at == pytest.approx(60.0)


def test_keep_alives_are_no_sign_of_life(wire: type[Wire], fake_time: type[FakeTime]) -> None:
    steps = [wire.D({"content": "x"}), *[1.0, b": ping\n\n"] * 100]
    error, at = _timed(fake_time, fake_time.transport(*steps), stall=2)
    assert at == pytest.approx(2.0)
    assert error.partial.text == "x"


def test_total_ends_a_stream_however_lively(wire: type[Wire], fake_time: type[FakeTime]) -> None:
    steps = [wire.D({"content": "x"}), 1.0] * 100
    error, at = _timed(fake_time, fake_time.transport(*steps), stall=2, total=10)
    assert at == pytest.approx(10.0)
    assert "no whole reply within 10 s" in str(error)


def test_a_finished_stream_waits_a_little_for_usage_and_not_for_the_stall(
    wire: type[Wire], fake_time: type[FakeTime]
) -> None:
    usage = wire.U({"prompt_tokens": 1, "completion_tokens": 2})
    transport = fake_time.transport(wire.F("stop"), 1.0, usage, 3600.0)
    reply, at = _timed(fake_time, transport, stall=60)
    assert reply.usage == Usage(1, 2)
    assert at < 10


def test_nothing_is_awaited_after_done(wire: type[Wire], fake_time: type[FakeTime]) -> None:
    transport = fake_time.transport(wire.D({"content": "x"}), wire.F("stop"), wire.DONE, 3600.0)
    reply, at = _timed(fake_time, transport)
    assert reply.text == "x"
    assert at < 1


def test_an_endless_error_body_is_not_read_to_its_end(
    wire: type[Wire], fake_time: type[FakeTime]
) -> None:
    error, at = _timed(fake_time, fake_time.transport(*[b"x" * 40_000] * 2, 3600.0, status=500))
    assert (error.status, at) == (500, 0.0)


def test_a_silent_socket_is_closed_when_time_is_up(wire: type[Wire]) -> None:
    async def ask() -> None:
        async with wire.Server([wire.D({"content": "x"}), wire.HOLD]) as server:
            model = ChatModel(server.url, stream=True, timeouts=Timeouts(stall=0.05))
            with pytest.raises(ModelError, match="silent"):
                await model.ask(USER, [])
            await asyncio.wait_for(server.client_left.wait(), 10)
            await model.aclose()

    asyncio.run(ask())


# ---------------------------------------------------------------- cancellation


@pytest.mark.parametrize("stream", [True, False])
def test_the_signal_closes_the_socket_and_keeps_what_was_received(
    wire: type[Wire], stream: bool
) -> None:
    async def ask() -> ModelReply | None:
        kind = "text/event-stream" if stream else "application/json"
        answer = wire.Answer([wire.D({"content": "half"}), wire.HOLD], content_type=kind)
        async with wire.Server(answer) as server:
            model, signal = ChatModel(server.url, stream=stream), Cancel()
            work = asyncio.ensure_future(
                model.ask(USER, [], cancel=signal, on_text=lambda _: signal.set())
            )
            await server.written.wait()
            signal.set()
            with pytest.raises(ModelCancelled) as caught:
                await work
            await asyncio.wait_for(server.client_left.wait(), 10)
            await model.aclose()
            assert isinstance(caught.value, asyncio.CancelledError)
            return caught.value.partial

    partial = asyncio.run(ask())
    assert partial is not None
    assert partial.text == ("half" if stream else "")


def test_a_signal_set_beforehand_sends_nothing(wire: type[Wire]) -> None:
    async def ask() -> int:
        async with wire.Server([wire.F("stop"), wire.DONE]) as server:
            model, signal = ChatModel(server.url), Cancel()
            signal.set()
            with pytest.raises(ModelCancelled) as caught:
                await model.ask(USER, [], cancel=signal)
            assert caught.value.partial is None
            return len(server.requests)

    assert asyncio.run(ask()) == 0


def test_a_task_that_is_cancelled_from_outside_leaves_no_request_behind(wire: type[Wire]) -> None:
    async def ask() -> None:
        async with wire.Server([wire.D({"content": "x"}), wire.HOLD]) as server:
            model = ChatModel(server.url, stream=True)
            work = asyncio.ensure_future(model.ask(USER, [], cancel=Cancel()))
            await server.written.wait()
            work.cancel()
            with pytest.raises(asyncio.CancelledError):
                await work
            await asyncio.wait_for(server.client_left.wait(), 10)
            await model.aclose()

    asyncio.run(ask())


# ---------------------------------------------------------------- connections


@pytest.mark.parametrize("stream", [True, False])
def test_one_socket_serves_many_questions(wire: type[Wire], stream: bool) -> None:
    async def ask() -> int:
        chunks = [wire.D({"content": "x"}), wire.F("stop"), wire.DONE]
        streamed = wire.Answer(chunks, framing="chunked")
        answer = streamed if stream else wire.json(wire.whole({"content": "x"}))
        async with wire.Server(answer) as server:
            model = ChatModel(server.url, stream=stream)
            for _ in range(5):
                await model.ask(USER, [])
            await model.aclose()
            return int(server.connections)

    assert asyncio.run(ask()) == 1


@pytest.mark.parametrize("host", ["model.invalid", "127.0.0.1"])
def test_a_proxy_of_the_environment_is_used_except_for_loopback(
    wire: type[Wire], monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    async def ask() -> tuple[str, list[str]]:
        async with wire.Server(wire.json(wire.whole({"content": "x"}))) as server:
            there = server.url if host == "127.0.0.1" else f"http://{host}"
            for name in ("http_proxy", "HTTP_PROXY"):
                monkeypatch.setenv(name, server.url if there != server.url else "http://x.invalid")
            model = ChatModel(there)
            reply = await model.ask(USER, [])
            await model.aclose()
            return reply.text, [request.target for request in server.requests]

    for name in ("no_proxy", "NO_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    path = "/v1/chat/completions"
    target = path if host == "127.0.0.1" else f"http://{host}{path}"
    assert asyncio.run(ask()) == ("x", [target])


def test_an_error_answer_leaves_the_socket_usable(wire: type[Wire]) -> None:
    async def ask() -> int:
        refused = wire.json(b'{"error":{"message":"x"}}', status=503)
        async with wire.Server(refused) as server:
            model = ChatModel(server.url)
            for _ in range(3):
                with pytest.raises(ModelError):
                    await model.ask(USER, [])
            await model.aclose()
            return int(server.connections)

    assert asyncio.run(ask()) == 1


def test_one_client_may_be_used_in_one_event_loop_after_another(wire: type[Wire]) -> None:
    model = ChatModel("http://127.0.0.1:1")

    async def ask() -> str:
        async with wire.Server(wire.json(wire.whole({"content": "x"}))) as server:
            again = ChatModel(server.url)
            model._connection.url = again._connection.url
            return (await model.ask(USER, [])).text

    assert [asyncio.run(ask()) for _ in range(2)] == ["x", "x"]


def test_one_client_may_be_used_in_several_event_loops_at_once(wire: type[Wire]) -> None:
    """A tool's thread may run an agent of its own while others do: nobody closes another's pool."""
    all_asked = threading.Barrier(3)
    asking: set[asyncio.AbstractEventLoop] = set()
    closed_early: list[str] = []

    class Slow(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            asking.add(asyncio.get_running_loop())
            await asyncio.to_thread(all_asked.wait, 10)
            asking.remove(asyncio.get_running_loop())
            said = json.loads(request.content)["messages"][0]["content"]
            return httpx.Response(200, content=wire.whole({"content": said}))

        async def aclose(self) -> None:
            if asyncio.get_running_loop() in asking:
                closed_early.append("a pool was closed under a request")

    model = ChatModel("http://x", transport=Slow())

    def ask(text: str) -> str:
        return asyncio.run(model.ask([Message("user", text)], [])).text

    with ThreadPoolExecutor(3) as threads:
        assert list(threads.map(ask, "abc")) == ["a", "b", "c"]
    assert closed_early == []


# ---------------------------------------------------------------- a reply without an end


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
def test_a_reply_that_grows_without_end_is_refused_and_charged(
    wire: type[Wire], stream: bool
) -> None:
    """Memory is bounded; what came is charged by its bytes, and it is not asked for again."""
    text = "x" * 500
    pieces = [wire.D({"content": text})] * 200
    whole = wire.json(wire.whole({"content": text * 200}))
    error = wire.error(pieces if stream else whole, stream=stream, largest=50_000)
    assert str(error) == "the reply has more than 50,000 bytes"
    assert error.retryable is False
    assert 20_000 < len(error.partial.text) < 200_000
    assert error.partial.usage is None or error.partial.usage.estimated


def test_a_reply_of_the_largest_size_is_taken(wire: type[Wire]) -> None:
    body = wire.whole({"content": "x" * 1_000})
    assert wire.reply(wire.json(body), stream=False, largest=len(body)).text == "x" * 1_000
    assert wire.reply(wire.json(body), stream=False, largest=None).text == "x" * 1_000
    with pytest.raises(ValueError, match="largest is a whole number, 1 or more, or None"):
        ChatModel("http://x", largest=0)
