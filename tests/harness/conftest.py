"""Fixtures for the model clients: a server that sends exactly the bytes it is given, and time."""

from __future__ import annotations

import asyncio
import json
import selectors
from collections.abc import AsyncIterator, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from fakeprovider_harness.models import (
    Call,
    ChatModel,
    Message,
    MessagesModel,
    ModelError,
    ModelReply,
    ToolSpec,
)
from fakeprovider_harness.models.chat import ChatAssembler
from fakeprovider_harness.models.client import HttpModel
from fakeprovider_harness.models.messages import MessagesAssembler
from fakeprovider_harness.models.sse import SSEParser

HOLD = object()
"""Keep the socket open, silent, until the client leaves."""
RST = object()
"""Reset the connection."""

_CHUNK = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}


@dataclass
class Answer:
    """One answer: pieces are written one by one; framing is `close`, `chunked` or `length`."""

    body: Sequence[Any] = ()
    status: int = 200
    content_type: str = "text/event-stream"
    headers: dict[str, str] = field(default_factory=dict)
    framing: str = "close"

    def head(self) -> bytes:
        lines = [f"HTTP/1.1 {self.status} Scripted", f"content-type: {self.content_type}"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        if self.framing == "chunked":
            lines.append("transfer-encoding: chunked")
        elif self.framing == "length":
            lines.append(f"content-length: {sum(len(p) for p in self.body)}")
        else:
            lines.append("connection: close")
        return "\r\n".join([*lines, "", ""]).encode()


@dataclass
class Request:
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class ByteServer:
    """Gives the n-th request the n-th answer, the last one for ever. Use as `async with`."""

    def __init__(self, *answers: Any) -> None:
        self._answers = [a if isinstance(a, Answer) else Answer(a) for a in answers]
        self.requests: list[Request] = []
        self.connections = 0
        self.client_left = asyncio.Event()
        self.written = asyncio.Event()
        self._open: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def __aenter__(self) -> ByteServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        host, port = self._server.sockets[0].getsockname()
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in self._open.values():
            writer.transport.abort()
        await asyncio.gather(*self._open)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = writer
        try:
            while (request := await self._request(reader)) is not None:
                self.requests.append(request)
                answer = self._answers[min(len(self.requests), len(self._answers)) - 1]
                if not await self._write(answer, reader, writer):
                    break
        except ConnectionError:
            self.client_left.set()
        finally:
            writer.close()

    async def _request(self, reader: asyncio.StreamReader) -> Request | None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
        except asyncio.IncompleteReadError:
            self.client_left.set()
            return None
        first, *lines = head.rstrip().split("\r\n")
        headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        return Request(first.split(" ")[1], headers, body)

    async def _write(
        self, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Send one answer; whether the connection may be used again."""
        writer.write(answer.head())
        for piece in answer.body:
            if piece is RST:
                await writer.drain()
                writer.transport.abort()
                return False
            if piece is HOLD:
                await writer.drain()
                self.written.set()
                await reader.read(1)
                self.client_left.set()
                return False
            chunked = answer.framing == "chunked" and piece
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
            await asyncio.sleep(0)
        if answer.framing == "chunked":
            writer.write(b"0\r\n\r\n")
        await writer.drain()
        return answer.framing != "close"


class Wire:
    """The notation of the wire: D, F, U and DONE of chat, E of the dialects with event names."""

    HOLD = HOLD
    RST = RST
    DONE = b"data: [DONE]\n\n"
    Answer = Answer
    Server = ByteServer

    @staticmethod
    def data(value: Any) -> bytes:
        return b"data: " + json.dumps(value, separators=(",", ":")).encode() + b"\n\n"

    @classmethod
    def D(cls, delta: Any, index: int = 0, finish: str | None = None) -> bytes:
        choice = {"index": index, "delta": delta, "finish_reason": finish}
        return cls.data({**_CHUNK, "choices": [choice]})

    @classmethod
    def F(cls, reason: str, index: int = 0) -> bytes:
        return cls.D({}, index, reason)

    @classmethod
    def U(cls, usage: Any) -> bytes:
        return cls.data({**_CHUNK, "choices": [], "usage": usage})

    @classmethod
    def E(cls, type: str, **fields: Any) -> bytes:
        return f"event: {type}\n".encode() + cls.data({"type": type, **fields})

    @staticmethod
    def tool(
        index: int | None = None, id: str | None = None, name: str | None = None, **more: Any
    ) -> dict[str, Any]:
        """One tool call delta; what is None is left out."""
        function = {k: v for k, v in {"name": name, **more}.items() if v is not None}
        labels = {k: v for k, v in {"index": index, "id": id}.items() if v is not None}
        return {**labels, "type": "function", "function": function}

    @staticmethod
    def calls(*deltas: Any) -> dict[str, Any]:
        return {"tool_calls": list(deltas)}

    @staticmethod
    def whole(message: Any, finish: str | None = "stop", **fields: Any) -> bytes:
        """A whole chat completion."""
        choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
        body = {"id": "c", "object": "chat.completion", "model": "m", "choices": [choice], **fields}
        return json.dumps(body).encode()

    @staticmethod
    def json(body: bytes, **fields: Any) -> Answer:
        return Answer([body], content_type="application/json", framing="length", **fields)

    @classmethod
    def refusal(cls, status: int, **error: Any) -> Answer:
        return cls.json(json.dumps({"error": error}).encode(), status=status)

    @staticmethod
    def assembled(*chunks: bytes) -> ChatAssembler:
        """A chat stream without a socket."""
        parser, assembler = SSEParser(), ChatAssembler("made")
        for event in parser.feed(b"".join(chunks)):
            assembler.feed(event)
        return assembler

    @classmethod
    def reply(cls, answer: Any, kind: type[HttpModel] = ChatModel, **settings: Any) -> ModelReply:
        """The reply to one question, by default streamed, to a server that sends `answer`."""
        settings.setdefault("stream", True)
        return cls._talk(kind, answer, settings)[0]

    @classmethod
    def error(cls, answer: Any, kind: type[HttpModel] = ChatModel, **settings: Any) -> ModelError:
        with pytest.raises(ModelError) as caught:
            cls.reply(answer, kind, **settings)
        return caught.value

    @classmethod
    def request(
        cls,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec] = (),
        kind: type[HttpModel] = ChatModel,
        answer: Any = None,
        **settings: Any,
    ) -> Request:
        """What the client sends for `messages`."""
        answer = answer or cls.json(cls.whole({"content": "x"}))
        return cls._talk(kind, answer, settings, messages, tools)[1]

    @classmethod
    def sent(cls, *args: Any, **settings: Any) -> Any:
        return cls.request(*args, **settings).json

    @staticmethod
    def _talk(
        kind: type[HttpModel],
        answer: Any,
        settings: dict[str, Any],
        messages: Sequence[Message] = (Message("user", "hi"),),
        tools: Sequence[ToolSpec] = (),
    ) -> tuple[ModelReply, Request]:
        async def talk() -> tuple[ModelReply, Request]:
            asking = {k: settings.pop(k) for k in ("max_output", "on_text") if k in settings}
            path = settings.pop("path", "")
            async with ByteServer(answer) as server:
                model = kind(server.url + path, "m", **settings)
                try:
                    reply = await model.ask(messages, tools, **asking)
                finally:
                    await model.aclose()
                return reply, server.requests[0]

        return asyncio.run(talk())


@pytest.fixture(scope="session")
def wire() -> type[Wire]:
    return Wire


class Anthropic:
    """Events of a Messages stream, and questions to a server that sends them."""

    @staticmethod
    def start(**usage: int) -> bytes:
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m"}
        usage = usage or {"input_tokens": 20, "output_tokens": 1}
        return Wire.E("message_start", message={**message, "content": [], "usage": usage})

    @staticmethod
    def opened(index: int, **block: Any) -> bytes:
        return Wire.E("content_block_start", index=index, content_block=block)

    @classmethod
    def used(cls, index: int, call: Call, **more: Any) -> bytes:
        block = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
        return cls.opened(index, **{**block, **more})

    @staticmethod
    def delta(index: int, **fields: Any) -> bytes:
        (key,) = fields
        kind = {"partial_json": "input_json_delta"}.get(key, f"{key}_delta")
        return Wire.E("content_block_delta", index=index, delta={"type": kind, **fields})

    @staticmethod
    def closed(index: int) -> bytes:
        return Wire.E("content_block_stop", index=index)

    @staticmethod
    def end(reason: str | None, **usage: int) -> list[bytes]:
        stopped = {"stop_reason": reason, "stop_sequence": None}
        usage = usage or {"output_tokens": 5}
        return [Wire.E("message_delta", delta=stopped, usage=usage), Wire.E("message_stop")]

    @classmethod
    def said(cls, *texts: str) -> list[bytes]:
        deltas = [cls.delta(0, text=text) for text in texts]
        return [cls.opened(0, type="text", text=""), *deltas, cls.closed(0)]

    @staticmethod
    def assembled(events: Sequence[bytes]) -> ModelReply:
        """A stream without a socket."""
        assembler, parser = MessagesAssembler("made"), SSEParser()
        for event in parser.feed(b"".join(events)):
            assembler.feed(event)
        return assembler.reply()

    @staticmethod
    def reply(events: Any, **settings: Any) -> ModelReply:
        return Wire.reply(events, MessagesModel, **settings)

    @staticmethod
    def error(events: Any, **settings: Any) -> ModelError:
        return Wire.error(events, MessagesModel, **settings)

    @staticmethod
    def sent(messages: Sequence[Message], tools: Sequence[ToolSpec] = (), **settings: Any) -> Any:
        answer = Wire.json(b'{"content":[],"stop_reason":"end_turn"}')
        return Wire.sent(messages, tools, MessagesModel, answer, **settings)


@pytest.fixture(scope="session")
def ant() -> type[Anthropic]:
    return Anthropic


class _FakeSelector(selectors.DefaultSelector):
    """Never waits: a timeout passes at once, on the loop's own clock."""

    now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if not ready and timeout:
            self.now += timeout
        return ready


class FakeTime:
    """An event loop whose sleeps take no time, and a transport to stream within it."""

    @staticmethod
    def run(main: Coroutine[Any, Any, Any]) -> Any:
        """Run `main`; `asyncio.get_running_loop().time()` starts at 0 and is exact."""
        selector = _FakeSelector()
        loop = asyncio.SelectorEventLoop(selector)
        loop.time = lambda: selector.now  # type: ignore[method-assign]
        try:
            return loop.run_until_complete(main)
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()

    @staticmethod
    def transport(
        *steps: bytes | float, before_headers: float = 0, status: int = 200
    ) -> httpx.MockTransport:
        """Answers with the given bytes; a number among them is a pause in seconds."""

        async def body() -> AsyncIterator[bytes]:
            for step in steps:
                if isinstance(step, bytes):
                    yield step
                else:
                    await asyncio.sleep(step)

        async def answer(request: httpx.Request) -> httpx.Response:
            await asyncio.sleep(before_headers)
            headers = {"content-type": "text/event-stream"}
            return httpx.Response(status, headers=headers, content=body())

        return httpx.MockTransport(answer)


@pytest.fixture(scope="session")
def fake_time() -> type[FakeTime]:
    return FakeTime
