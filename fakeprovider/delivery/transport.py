"""uvicorn's HTTP protocols, but an application can reach the connection under a request.

Faults need it: a reset, a body that ends in the middle. uvicorn itself knows only polite endings.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Awaitable
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from fakeprovider.serving.asgi import ASGIApp, Receive, Scope, Send

EXTENSION = "fakeprovider.delivery.transport"
"""Where the `asyncio.Transport` stands in a scope's `extensions`."""

_LINGER_ZERO = struct.pack("ii", 1, 0)  # close() then sends RST and throws away what is unsent


class _WithTransport:
    """The application of one connection."""

    def __init__(self, app: ASGIApp, transport: asyncio.Transport) -> None:
        self._app = app
        self._extensions = {EXTENSION: transport}

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


def transport_of(scope: Scope) -> asyncio.Transport | None:
    """The connection under a request; None under another server than ours."""
    extensions = scope.get("extensions") or {}
    found: asyncio.Transport | None = extensions.get(EXTENSION)
    return found


def close(transport: asyncio.Transport) -> None:
    """Send what is under way, then FIN: the peer sees an end where none was due."""
    transport.close()


def reset(transport: asyncio.Transport) -> None:
    """Send RST; what is still unsent is lost."""
    connection = transport.get_extra_info("socket")
    if connection is not None:
        with contextlib.suppress(OSError, ValueError):  # the peer was quicker
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_ZERO)
    transport.abort()
