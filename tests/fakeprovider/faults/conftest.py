"""A provider that sends a reply with a fault, in process and over a socket."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from faulty_replies import SCRIPTS, Heard, Post, RequestBody, Send, body, listen, send

from fakeprovider.server import Server


@pytest.fixture(scope="session")
def sent() -> Send:
    return send


@pytest.fixture(scope="session")
def request_body() -> RequestBody:
    return body


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A server with the scripts of these tests; faults come by path."""
    with Server("both", scripts=SCRIPTS) as running:
        yield running


@pytest.fixture(scope="session")
def raw(server: Server) -> Post:
    """Posts over a connection of its own and reads until it ends, or for `seconds` of silence."""

    def post(path: str, content: dict[str, Any], seconds: float = 5.0) -> Heard:
        data = json.dumps(content).encode()
        head = f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {len(data)}\r\n\r\n"
        with socket.create_connection(("127.0.0.1", server.port), timeout=seconds) as connection:
            connection.sendall(head.encode() + data)
            return listen(connection)

    return post
