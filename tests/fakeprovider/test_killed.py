"""A server that is killed in the middle of things leaves a journal that can be read, no more."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from fakeprovider import journal
from fakeprovider.journal import Exchange, Journal
from fakeprovider.server import Server

BODY: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "go"}]}


class Serving:
    """`fakeprovider serve` as a process."""

    def __init__(self, path: Path, port: int = 0) -> None:
        command = [sys.executable, "-m", "fakeprovider", "serve", "--json"]
        command += ["--port", str(port), "--journal", str(path)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.url = json.loads(self.process.stdout.readline())["url"]
        self.port = int(self.url.rpartition(":")[2])

    def end(self, how: int) -> int:
        """Send a signal; the exit status."""
        self.process.send_signal(how)
        status = self.process.wait(timeout=10)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return status


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.jsonl"


@pytest.fixture
def serving(path: Path) -> Iterator[Serving]:
    found = Serving(path)
    yield found
    if found.process.poll() is None:
        found.end(signal.SIGKILL)


def open_stream(port: int, script: str) -> socket.socket:
    """A connection in the middle of a stream that stands still."""
    body = json.dumps({**BODY, "stream": True}).encode()
    client = socket.create_connection(("127.0.0.1", port), timeout=10)
    head = f"POST /{script}/v1/chat/completions HTTP/1.1\r\nhost: x\r\n"
    client.sendall(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
    heard = b""
    while b"assistant" not in heard:
        heard += client.recv(4096)
    return client


def children(process: int) -> list[str]:
    """The children of a process, as Linux lists them."""
    return Path(f"/proc/{process}/task/{process}/children").read_text().split()


@pytest.mark.skipif(not Path("/proc").exists(), reason="children are counted by /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_server_that_ends_mid_stream_leaves_no_port_no_child_and_a_whole_journal(
    serving: Serving, path: Path, how: signal.Signals
) -> None:
    """Streams that stand still, hang or drip do not hold it up."""
    for _ in range(3):
        httpx.post(f"{serving.url}/v1/chat/completions", json=BODY, timeout=60)
    faults = ("stall,after=0,seconds=600", "hold_open,seconds=600", "slow_body,bytes=400,gap=60")
    streams = [open_stream(serving.port, f"plan;fault={fault}") for fault in faults]
    assert children(serving.process.pid) == []
    begun = time.monotonic()
    status = serving.end(how)
    assert time.monotonic() - begun < 5
    assert status == (-signal.SIGKILL if how == signal.SIGKILL else 0)
    for stream in streams:
        assert_closed(stream)
    left = journal.read(path)
    assert [one.cancelled for one in left[:3]] == [False] * 3
    if how != signal.SIGKILL:
        assert sorted(one.fault for one in left[3:]) == ["hold_open", "slow_body", "stall"]
        assert all(one.cancelled for one in left[3:])
    with socket.create_server(("127.0.0.1", serving.port)):
        pass  # the port is free


def test_a_server_in_a_thread_stops_with_streams_that_hang_and_leaves_no_thread() -> None:
    before = set(threading.enumerate())
    server = Server("plan")
    server.start()
    faults = ("stall,after=0,seconds=600", "hold_open,seconds=600", "slow_body,bytes=400,gap=60")
    streams = [open_stream(server.port, f"plan;fault={fault}") for fault in faults]
    begun = time.monotonic()
    server.stop()
    assert time.monotonic() - begun < 5
    assert set(threading.enumerate()) <= before
    assert len(server.journal.exchanges()) == 3
    for stream in streams:
        assert_closed(stream)


def assert_closed(stream: socket.socket) -> None:
    with stream:
        try:
            while stream.recv(65536):
                pass
        except ConnectionResetError:
            return


def test_a_server_killed_mid_journal_can_be_read_and_started_again(
    serving: Serving, path: Path
) -> None:
    """Killed under a load of requests; the next one appends to whole lines."""
    leave = threading.Event()

    def load() -> None:
        with httpx.Client(timeout=60) as client:
            while not leave.is_set():
                try:
                    client.post(f"{serving.url}/~load/plan/v1/chat/completions", json=BODY)
                except httpx.TransportError:
                    return

    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    while not path.exists() or path.stat().st_size < 20_000:
        time.sleep(0.01)
    serving.end(signal.SIGKILL)
    leave.set()
    for thread in threads:
        thread.join(timeout=10)
    before = journal.read(path)
    assert len(before) > 5
    assert {one.run for one in before} == {"load"}
    again = Serving(path)
    httpx.post(f"{again.url}/~after/plan/v1/chat/completions", json=BODY, timeout=60)
    again.end(signal.SIGTERM)
    after = journal.read(path)
    assert after[: len(before)] == before
    assert [one.run for one in after[len(before) :]] == ["after"]


@pytest.mark.parametrize("cut", [1, 40, 200])
def test_half_a_line_is_taken_away_before_the_next_is_written(path: Path, cut: int) -> None:
    for run in ("a", "b"):
        written = Journal(path)
        written.write(Exchange(run=run))
        written.close()
        whole = path.read_bytes()
        path.write_bytes(whole + whole[:cut])
    assert [one.run for one in journal.read(path)] == ["a", "b"]
    os.truncate(path, 3)
    Journal(path).close()
    assert path.read_bytes() == b""
