"""The server's life: starting, stopping, connections, streams that are open at the end."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading

import httpx
import pytest
from processes import Serve

from fakeprovider.conversation import Conversation
from fakeprovider.journal import Exchange
from fakeprovider.replies import Reply, say
from fakeprovider.scripts import UnknownScript
from fakeprovider.server import PortInUse, Server

BODY = {"model": "m", "messages": [{"role": "user", "content": "go"}]}


def huge(conversation: Conversation) -> Reply:
    """Says more than any socket buffers."""
    return say("word " * 200_000)


def raw_stream(port: int, path: str) -> socket.socket:
    """A connection that asked for a stream and read its head, and no more."""
    body = json.dumps({**BODY, "stream": True}).encode()
    client = socket.create_connection(("127.0.0.1", port))
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.sendall(
        b"POST %b HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % (path.encode(), len(body))
        + body
    )
    assert client.recv(64).startswith(b"HTTP/1.1 200")
    return client


def stopped(server: Server) -> list[Exchange]:
    """What the journal has once everything has ended."""
    server.stop()
    return server.journal.exchanges()


def test_it_answers_at_once_and_leaves_nothing_behind(http: httpx.Client) -> None:
    """Up when `start` returns; after `stop` the port is free and the thread gone."""
    before = set(threading.enumerate())
    server = Server("plan")
    server.start()
    assert http.post(f"{server.base_url}/chat/completions", json=BODY).status_code == 200
    server.stop()
    again = Server("plan", port=server.port)
    again.start()
    again.stop()
    assert set(threading.enumerate()) <= before


def test_a_port_in_use_is_a_clear_error() -> None:
    """It names the address and what to do."""
    with Server("plan") as first, pytest.raises(PortInUse, match=rf"{first.port}.*--port"):
        Server("plan", port=first.port).start()


def test_an_unknown_script_is_an_error_before_anything_starts() -> None:
    """It names those there are."""
    with pytest.raises(UnknownScript, match=r"no script named 'plam'; there are: .*plan"):
        Server("plam")


def test_a_function_is_a_script() -> None:
    """As the default, and by a name of its own."""
    with Server(lambda conversation: say("one"), scripts={"two": lambda _: say("two")}) as server:
        replies = [
            httpx.post(f"{base}/chat/completions", json=BODY).json()["choices"][0]["message"]
            for base in (server.base_url, server.url_for("two"))
        ]
    assert [reply["content"] for reply in replies] == ["one", "two"]


def test_stopping_closes_an_open_stream_soon() -> None:
    """A client that does not read is not waited for; the journal says that it was cut."""
    server = Server(huge)
    server.start()
    with raw_stream(server.port, "/~slow/v1/chat/completions"):
        server.stop()
    (exchange,) = server.journal.exchanges("slow")
    assert exchange.cancelled
    assert exchange.stream


def test_a_client_that_leaves_a_stream_is_cancelled() -> None:
    """The rest of its reply is not made."""
    server = Server(huge)
    server.start()
    raw_stream(server.port, "/v1/chat/completions").close()
    (exchange,) = stopped(server)
    assert exchange.cancelled


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_process_well(number: signal.Signals) -> None:
    """Exit status 0, in silence, long before the open stream would have ended."""
    command = [sys.executable, "-m", "fakeprovider", "serve", "--port", "0", "--json"]
    with (
        subprocess.Popen(
            [*command, "--script", "long"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process,
        httpx.Client() as idle,
    ):
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        idle.get(f"{url}/healthz")
        path = "/plan;latency=60000/v1/chat/completions"
        with raw_stream_waiting(int(url.rsplit(":", 1)[1]), path):
            process.send_signal(number)
            output, errors = process.communicate(timeout=20)
    assert (process.returncode, output, errors) == (0, "", "")


def raw_stream_waiting(port: int, path: str) -> socket.socket:
    """A connection whose request the server has read."""
    body = json.dumps({**BODY, "stream": True}).encode()
    head = b"POST %b HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: %d\r\n\r\n"
    client = socket.create_connection(("127.0.0.1", port))
    client.sendall(head % (path.encode(), len(body)))
    assert b"100" in client.recv(100)
    client.sendall(body)
    return client


def test_a_connection_is_used_again(server: Server) -> None:
    """Stream, stream, whole, stream and an error over one pooled connection."""
    with httpx.Client(limits=httpx.Limits(max_connections=1)) as client:
        ports = set()
        for stream, status in [(True, 200), (True, 200), (False, 200), (True, 200), (False, 400)]:
            body = {**BODY, "stream": stream} if status == 200 else {}
            with client.stream("POST", f"{server.base_url}/chat/completions", json=body) as reply:
                reply.read()
                network = reply.extensions["network_stream"]
                ports.add(network.get_extra_info("client_addr"))
            assert reply.status_code == status
    assert len(ports) == 1


def test_each_frame_is_a_chunk_of_its_own(server: Server) -> None:
    """Nothing is held back until the end."""
    with httpx.stream(
        "POST", f"{server.base_url}/chat/completions", json={**BODY, "stream": True}
    ) as reply:
        chunks = list(reply.iter_raw())
    assert reply.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert b"".join(chunks).count(b"\n\n") >= 4


def test_eight_streams_at_once_each_get_their_own(server: Server) -> None:
    """Two clients of one script, and others, do not mix."""
    scripts = ["plan", "runaway", "denied", "slow"] * 2

    def calls(script: str) -> str:
        body = {**BODY, "stream": True, "tools": tools}
        return httpx.post(f"{server.url_for(script)}/chat/completions", json=body).text

    names = ["list_files", "read_file", "scan_archive"]
    tools = [{"type": "function", "function": {"name": name}} for name in names]
    found: dict[int, str] = {}
    threads = [
        threading.Thread(target=lambda at, one: found.update({at: calls(one)}), args=(at, script))
        for at, script in enumerate(scripts)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    asked = {"plan": "list_files", "runaway": "list_files", "denied": "read_file"}
    for at, script in enumerate(scripts):
        assert f'"name":"{asked.get(script, "scan_archive")}"' in found[at]
        assert found[at].endswith("data: [DONE]\n\n")


def test_without_uvloop_it_answers_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The standard library's loop serves as well, and without Nagle's delay."""
    monkeypatch.setitem(sys.modules, "uvloop", None)
    with Server("plan") as server, socket.create_connection(("127.0.0.1", server.port)):
        assert httpx.post(f"{server.base_url}/chat/completions", json=BODY).status_code == 200
        connections = server._running.server_state.connections  # type: ignore[union-attr]
        (accepted, *_) = [
            connection.transport.get_extra_info("socket") for connection in connections
        ]
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_serve_tells_where_it_is(serve: Serve, http: httpx.Client) -> None:
    """One line of JSON, with a base URL that answers."""
    process = serve("--script", "runaway")
    assert process.base_url == f"{process.url}/v1"
    reply = http.post(f"{process.base_url}/chat/completions", json=BODY)
    assert reply.json()["id"] == "chatcmpl-fake0"
