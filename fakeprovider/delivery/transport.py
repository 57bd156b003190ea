"""uvicorn's HTTP protocols, but an application can reach the connection under a request.

Faults need it: a reset, a body that ends in the middle. uvicorn itself knows only polite endings.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from fakeprovider.serving.asgi import TRANSPORT, ASGIApp, Receive, Scope, Send


class _WithTransport:
    """The application of one connection."""

    def __init__(self, app: ASGIApp, transport: asyncio.Transport) -> None:
        self._app = app
        self._extensions = {TRANSPORT: transport}

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        scope["extensions"] = self._extensions
        return self._app(scope, receive, send)


def protocol_class() -> type[asyncio.Protocol]:
    """The protocol that uvicorn would choose, with the transport in each scope's extensions."""
    base: Any = AutoHTTPProtocol

    class Exposing(base):  # type: ignore[misc]  # which of the two it is, uvicorn decides
        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            self.app: ASGIApp = _WithTransport(self.app, transport)

    return Exposing
