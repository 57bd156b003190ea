"""Model clients over HTTP: what they have in common, and the client of a protocol by its name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeVar

import httpx

from fakeprovider_harness import quantities
from fakeprovider_harness.models.base import CancelSignal, Message, ModelReply, Timeouts, ToolSpec
from fakeprovider_harness.models.exchange import LARGEST, Assembler, Connection, Exchange, endpoint
from fakeprovider_harness.models.exchange import api_key as find_key
from fakeprovider_harness.models.wire import Memo, ToolMemo, encode
from fakeprovider_harness.registry import Registry


class HttpModel(ABC):
    """A `Model` over HTTP. One instance serves any number of runs at once.

    Args:
        base_url: root of the service, with or without `/v1`; default: `LLM_BASE_URL`.
        model: the name sent with each request; also the name for the price table.
        api_key: default: `LLM_API_KEY`, then the service's own variable.
        stream: ask for the reply in pieces. The reply returned is the same.
        timeouts: see `Timeouts`.
        headers: sent with each request, over the client's own.
        largest: bytes that an answer may have, the frames of a stream included; more is a
            `ModelError`. None: no limit.
        options: further fields of each request body, such as `{"temperature": 0}`.
        transport: an httpx transport instead of the network, for tests.

    Raises ValueError for a missing or unusable base URL.
    """

    path: ClassVar[str]
    key_variable: ClassVar[str]
    assembler: ClassVar[type[Assembler]]
    stream_fields: ClassVar[dict[str, Any]] = {"stream": True}
    max_output_field: str

    def __init__(
        self,
        base_url: str | None = None,
        model: str = "default",
        api_key: str | None = None,
        *,
        stream: bool = False,
        timeouts: Timeouts | None = None,
        largest: int | None = LARGEST,
        headers: Mapping[str, str] | None = None,
        options: Mapping[str, Any] | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.name = model
        self.stream = stream
        self._options = dict(options or {})
        self._timeouts = timeouts or Timeouts()
        quantities.whole("largest", largest, 1)
        self._largest = largest
        self._memo = Memo(self._entry)
        self._tools = ToolMemo(self._tool)
        key = find_key(api_key, self.key_variable)
        self._connection = Connection(
            endpoint(base_url, self.path),
            {**(self._key_headers(key) if key else {}), **self._headers(), **(headers or {})},
            connect_timeout=self._timeouts.connect,
            transport=transport,
        )

    async def ask(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        *,
        max_output: int | None = None,
        cancel: CancelSignal | None = None,
        on_text: Callable[[str], None] | None = None,
    ) -> ModelReply:
        """Send one request and return the whole reply. `on_text` gets each piece as it comes."""
        # the position in the conversation makes an id that the conversation does not have yet
        assembler = self.assembler(f"call_{len(messages)}", on_text)
        exchange = Exchange(
            self._connection,
            self._timeouts,
            assembler,
            stream=self.stream,
            largest=self._largest,
        )
        return await exchange.run(self._encode(messages, tools, max_output), cancel)

    async def aclose(self) -> None:
        """Close the kept-alive sockets."""
        await self._connection.aclose()

    def _encode(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], max_output: int | None
    ) -> bytes:
        body = {"model": self.name, **self._input(self._memo.entries(messages)), **self._options}
        if tools:
            body["tools"] = self._tools.encoded(tools)
        if max_output is not None:
            body[self.max_output_field] = max_output
        if self.stream:
            body |= self.stream_fields
        return encode(body)

    def _key_headers(self, key: str) -> dict[str, str]:
        return {"authorization": f"Bearer {key}"}

    def _headers(self) -> dict[str, str]:
        return {}

    @staticmethod
    @abstractmethod
    def _entry(message: Message) -> Any:
        """One message as the dialect has it, encoded."""

    @staticmethod
    @abstractmethod
    def _tool(tool: ToolSpec) -> Any:
        """One tool as the dialect has it."""

    @abstractmethod
    def _input(self, entries: list[Any]) -> dict[str, Any]:
        """The fields of the body that carry the conversation."""


PROTOCOLS: Registry[type[HttpModel]] = Registry(
    "protocol",
    [f"fakeprovider_harness.models.{module}" for module in ("chat", "messages", "responses")],
)
"""The client of each protocol, by the protocol's name."""

M = TypeVar("M", bound=type[HttpModel])


def speaks(protocol: str) -> Callable[[M], M]:
    """Register the client below as the one that speaks `protocol`."""

    def register(client: M) -> M:
        PROTOCOLS.add(protocol, client)
        return client

    return register


def make_model(
    protocol: Literal["chat", "messages", "responses"] | str = "chat",
    base_url: str | None = None,
    model: str = "default",
    api_key: str | None = None,
    **settings: Any,
) -> HttpModel:
    """The client that speaks `protocol`; the other arguments are those of `HttpModel`.

    Raises ValueError for an unknown protocol, naming those there are.
    """
    client = PROTOCOLS.get(protocol)
    if client is None:
        raise ValueError(f"unknown protocol {protocol!r}: one of {', '.join(PROTOCOLS)}")
    return client(base_url, model, api_key, **settings)
