"""The proxy of `fakeprovider record`: where a key may travel, and what a client sees of trouble."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import httpx
import pytest

from fakeprovider.recording.book import known_secrets
from fakeprovider.recording.proxy import Proxy
from fakeprovider.recording.requests import without_secrets
from fakeprovider.server import Server

BODY = {"model": "m", "messages": [{"role": "user", "content": "Which file?"}]}


@pytest.fixture(scope="module")
def upstream() -> Iterator[Server]:
    with Server("plan") as running:
        yield running


class Told:
    """What a proxy tells of each exchange: path, status, answer."""

    def __init__(self) -> None:
        self.all: list[tuple[str, int, bytes]] = []

    def __call__(self, path: str, sent: bytes, status: int, answer: bytes, streamed: bool) -> None:
        self.all.append((path, status, answer))


def raw(proxy: Proxy, target: str) -> bytes:
    """The answer to a request whose target no HTTP library would send."""
    host, port = proxy.base_url.removeprefix("http://").removesuffix("/v1").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        head = f"GET {target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
        connection.sendall(head.encode())
        return b"".join(iter(lambda: connection.recv(65536), b""))


@pytest.mark.parametrize("prefix", ["@", "/v1@"])
def test_no_path_takes_the_key_to_another_host(upstream: Server, prefix: str) -> None:
    told = Told()
    with Server("plan") as stranger, Proxy(upstream.url, told, key="sk-secret-secret") as proxy:
        answer = raw(proxy, f"{prefix}127.0.0.1:{stranger.port}/v1/chat/completions")
        assert answer.startswith(b"HTTP/1.1 404")
        assert stranger.journal.exchanges() == []
    assert told.all == []


def test_a_target_that_no_url_can_hold_is_told_to_the_client(upstream: Server) -> None:
    told = Told()
    with Proxy(upstream.url, told) as proxy:
        answer = raw(proxy, "/v1/\x01")
    assert answer.startswith(b"HTTP/1.1 502")
    assert [status for _, status, _ in told.all] == [502]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_an_answer_that_broke_off_upstream_breaks_off_here(upstream: Server, stream: bool) -> None:
    told = Told()
    broken = upstream.url_for("plan;fault=close_mid_body")
    with Proxy(broken, told) as proxy, pytest.raises(httpx.RemoteProtocolError) as error:
        httpx.post(f"{proxy.base_url}/chat/completions", json={**BODY, "stream": stream})
    assert "closed connection" in str(error.value), "not an error page in the middle of the body"
    assert [status for _, status, _ in told.all] == [502]


def test_a_password_in_the_upstreams_url_is_told_to_nobody() -> None:
    told = Told()
    with Proxy("http://user:pass-word@127.0.0.1:1/v1", told) as proxy:
        answer = httpx.post(f"{proxy.base_url}/chat/completions", json=BODY)
    assert answer.status_code == 502
    assert "pass-word" not in answer.text + repr(told.all)


def test_of_two_secrets_of_which_one_begins_with_the_other_nothing_is_left() -> None:
    secrets = known_secrets(["abcdefgh", "abcdefgh-and-more", "short", None])
    assert without_secrets("key=abcdefgh-and-more", secrets) == "key=[secret]"
