"""What the three clients have in common: settings, a connection, one exchange per question."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import httpx

from .address import api_key as find_key
from .address import endpoint
from .base import CancelSignal, Message, ModelReply, ToolSpec
from .connection import Connection
from .exchange import Assembler, Exchange
from .timeouts import Timeouts


class HttpModel(ABC):
    """A `Model` over HTTP. One instance serves any number of runs at once.

    Args:
        base_url: root of the service, with or without `/v1`; default: `LLM_BASE_URL`.
        model: the name sent with each request; also the name for the price table.
        api_key: default: `LLM_API_KEY`, then the service's own variable.
        stream: ask for the reply in pieces. The reply returned is the same.
        timeouts: see `Timeouts`.
        headers: sent with each request, over the client's own.
        options: further fields of each request body, such as `{"temperature": 0}`.
        transport: an httpx transport instead of the network, for tests.

    Raises ValueError for a missing or unusable base URL.
    """

    path: str
    key_variable: str

    def __init__(
        self,
        base_url: str | None = None,
        model: str = "default",
        api_key: str | None = None,
        *,
        stream: bool = False,
        timeouts: Timeouts | None = None,
        headers: Mapping[str, str] | None = None,
        options: Mapping[str, Any] | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.name = model
        self.stream = stream
        self._options = dict(options or {})
        self._timeouts = timeouts or Timeouts()
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
        exchange = Exchange(
            self._connection,
            self._timeouts,
            self._assembler(messages, on_text),
            lambda body: self._whole(body, messages, on_text),
            stream=self.stream,
        )
        return await exchange.run(self._encode(messages, tools, max_output), cancel)

    async def aclose(self) -> None:
        """Close the kept-alive sockets."""
        await self._connection.aclose()

    def _key_headers(self, key: str) -> dict[str, str]:
        return {"authorization": f"Bearer {key}"}

    def _headers(self) -> dict[str, str]:
        return {}

    @abstractmethod
    def _encode(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], max_output: int | None
    ) -> bytes: ...

    @abstractmethod
    def _assembler(
        self, messages: Sequence[Message], on_text: Callable[[str], None] | None
    ) -> Assembler: ...

    @abstractmethod
    def _whole(
        self, body: bytes, messages: Sequence[Message], on_text: Callable[[str], None] | None
    ) -> ModelReply: ...
