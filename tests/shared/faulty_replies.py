"""A reply with a fault as the bytes that go out, without a socket; and what a connection hears."""

from __future__ import annotations

import json
import socket
from dataclasses import dataclass
from typing import Any, Protocol

from fakeprovider.conversation import Conversation
from fakeprovider.delivery.schedule import delivery
from fakeprovider.delivery.steps import Cut, Hold, Piece, Start, Step
from fakeprovider.journal import Exchange, exchange_of
from fakeprovider.protocols.dialect import by_endpoint
from fakeprovider.replies import Fault, Reply, call, say
from fakeprovider.scripts import discover
from fakeprovider.serving.asgi import Head
from fakeprovider.serving.provider import Provider
from fakeprovider.serving.request_context import RequestContext, WireRequest
from fakeprovider.serving.routing import resolve
from fakeprovider.settings import Settings

PATHS = {"chat": "/chat/completions", "messages": "/messages", "responses": "/responses"}
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


def both(conversation: Conversation) -> Reply:
    """Reads two files at once, then answers."""
    if conversation.turn:
        return say("Both are fine.")
    return say(
        "Let me look at both of them.",
        call("read_file", {"path": "a.txt"}),
        call("read_file", {"path": "b.txt"}),
    )


def words(conversation: Conversation) -> Reply:
    """Says something, without any call."""
    return say("Nothing to do here, all is well.")


SCRIPTS = {"both": both, "words": words}


def body(dialect: str, stream: bool = False, **rest: Any) -> dict[str, Any]:
    """A request in a dialect, with one tool."""
    common = {"model": "m", "stream": stream}
    name, text = "read_file", "Which of the files is it?"
    if dialect == "chat":
        function = {"name": name, "parameters": SCHEMA}
        messages = [{"role": "user", "content": text}]
        tools = [{"type": "function", "function": function}]
        return {**common, "messages": messages, "tools": tools, **rest}
    if dialect == "messages":
        messages = [{"role": "user", "content": text}]
        tools = [{"name": name, "input_schema": SCHEMA}]
        return {**common, "max_tokens": 1000, "messages": messages, "tools": tools, **rest}
    tools = [{"type": "function", "name": name, "parameters": SCHEMA}]
    return {**common, "input": text, "tools": tools, **rest}


@dataclass(frozen=True)
class Sent:
    """What went out: the steps, and what the journal says of it."""

    dialect: str
    stream: bool
    steps: tuple[Step, ...]
    exchange: Exchange

    @property
    def start(self) -> Start:
        return next(step for step in self.steps if isinstance(step, Start))

    @property
    def status(self) -> int:
        return self.start.status

    @property
    def headers(self) -> dict[str, str]:
        return dict(self.start.headers)

    @property
    def body(self) -> bytes:
        return b"".join(step.data for step in self.steps if isinstance(step, Piece))

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def held(self) -> float:
        return sum(step.seconds for step in self.steps if isinstance(step, Hold))

    @property
    def cut(self) -> str | None:
        """How the connection ends; None if it goes on."""
        last = self.steps[-1]
        return last.how if isinstance(last, Cut) else None

    @property
    def events(self) -> list[Any]:
        """The data of the events, `[DONE]` as it stands."""
        blocks = self.body.decode().split("\n\n")[:-1]
        lines = [line for block in blocks for line in block.split("\n")]
        data = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
        return [text if text == "[DONE]" else json.loads(text) for text in data]

    @property
    def kinds(self) -> list[str]:
        return [event.get("type", "") for event in self.events if event != "[DONE]"]

    @property
    def notes(self) -> list[str]:
        return [note.rule for note in self.exchange.notes]


def send(
    dialect: str,
    fault: str = "",
    *,
    stream: bool = False,
    script: str = "both",
    path: str = "",
    head: Head | None = None,
    provider: Provider | None = None,
    request: dict[str, Any] | None = None,
    params: dict[str, Any] | None = None,
    **rest: Any,
) -> Sent:
    """What a provider sends; `fault` may name its parameters: `cut,after=2`."""
    name, _, words = fault.partition(",")
    given = dict(pair.split("=") for pair in words.split(",") if pair) | (params or {})
    provider = provider or Provider(
        discover(SCRIPTS),
        Settings(faults=[Fault(name, given)] if name else []),
        default=script,
    )
    route = resolve(f"{path or '/' + script}/v1{PATHS[dialect]}", by_endpoint())
    assert route is not None
    wire = WireRequest(
        by_endpoint()[route.endpoint],
        route,
        head=head or Head(),
        started=1_800_000_000.25,
        body=json.dumps(request or body(dialect, stream, **rest)).encode(),
    )
    context = RequestContext(wire)
    conversation, completion = provider.answer(context)
    steps = tuple(delivery(context, conversation, completion))
    return Sent(dialect, stream, steps, exchange_of(context))


class Send(Protocol):
    """`sent(dialect, fault, stream=..., **fields of the request)`."""

    def __call__(self, dialect: str, fault: str = "", **rest: Any) -> Sent: ...


class RequestBody(Protocol):
    """`request_body(dialect, stream, **fields)`."""

    def __call__(self, dialect: str, stream: bool = False, **rest: Any) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Heard:
    """What came over a connection, and how it ended: `eof`, `reset` or `open`."""

    data: bytes
    end: str

    @property
    def head(self) -> bytes:
        return self.data.partition(b"\r\n\r\n")[0]

    @property
    def body(self) -> bytes:
        return self.data.partition(b"\r\n\r\n")[2]


class Post(Protocol):
    """Posts to a path, and reads what comes until it ends or is silent for `seconds`."""

    def __call__(self, path: str, content: dict[str, Any], seconds: float = 5.0) -> Heard: ...


def listen(connection: socket.socket) -> Heard:
    """Everything that comes."""
    data = b""
    try:
        while piece := connection.recv(65536):
            data += piece
    except ConnectionResetError:
        return Heard(data, "reset")
    except TimeoutError:
        return Heard(data, "open")
    return Heard(data, "eof")
