"""Five hundred streams at once: each whole, and the server's memory flat."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

STREAMS = 500
TOKENS = 400
ROUNDS = 3
BODIES: dict[str, Any] = {
    "chat/completions": {"messages": [{"role": "user", "content": "go"}]},
    "messages": {"max_tokens": 10_000, "messages": [{"role": "user", "content": "go"}]},
    "responses": {"input": "go"},
}
ENDS = {"chat/completions": b"[DONE]", "messages": b"message_stop", "responses": b"completed"}
SCRIPT = '''
from fakeprovider.replies import Pace, Reply, Text
from fakeprovider.server import Server

def talk(conversation):
    """Many words, at a model's speed."""
    return Reply((Text("word " * {tokens}),), pace=Pace(0.2, 200, 0.2))

Server(talk).serve(ready=lambda: None)
'''


@pytest.fixture
def served(tmp_path: Path, unused_port: int) -> Iterator[tuple[int, int]]:
    """A provider in a process of its own: its port and its pid."""
    source = SCRIPT.format(tokens=TOKENS).replace(
        "Server(talk)", f"Server(talk, port={unused_port})"
    )
    program = tmp_path / "serve.py"
    program.write_text(source)
    process = subprocess.Popen([sys.executable, str(program)])
    try:
        _wait(unused_port)
        yield unused_port, process.pid
    finally:
        process.terminate()
        assert process.wait(timeout=10) == 0


@pytest.fixture
def unused_port() -> int:
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _wait(port: int) -> None:
    import socket

    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError("the provider does not listen")


def resident(pid: int) -> int:
    """Memory of a process in MiB."""
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    assert found
    return int(found[1]) // 1024


async def one(port: int, number: int) -> float:
    """One stream to its end; returns how long it took, in seconds."""
    endpoint = list(BODIES)[number % len(BODIES)]
    body = json.dumps({"model": f"m{number}", "stream": True, **BODIES[endpoint]}).encode()
    head = f"POST /v1/{endpoint} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n"
    head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    begun = time.monotonic()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head.encode() + body)
    received = await reader.read(-1)
    writer.close()
    assert b" 200 " in received[:20]
    assert ENDS[endpoint] in received[-2000:] or endpoint == "responses"
    assert received.count(b"word") >= TOKENS
    assert f'"m{number}"'.encode() in received
    return time.monotonic() - begun


async def many(port: int) -> list[float]:
    return await asyncio.gather(*(one(port, number) for number in range(STREAMS)))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
def test_five_hundred_streams_at_once_are_whole_and_memory_stays_flat(
    served: tuple[int, int],
) -> None:
    port, pid = served
    asyncio.run(many(port))  # what is kept for good is loaded: tokenizer, caches, code
    settled = resident(pid)
    peaks = []
    for _ in range(ROUNDS):
        times = asyncio.run(many(port))
        peaks.append(resident(pid))
        print(f"{STREAMS} streams in {max(times):.1f} s, {resident(pid)} MiB")
    assert max(peaks) - settled < 60, (settled, peaks)
    assert peaks[-1] - peaks[0] < 20, (settled, peaks)
