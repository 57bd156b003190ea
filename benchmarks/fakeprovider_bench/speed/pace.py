"""Many paced streams at once: when tokens were asked for, and when a client had them."""

from __future__ import annotations

import asyncio
import json
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median, quantiles

from fakeprovider_bench.speed import processes
from fakeprovider_bench.speed.load import request_bytes

_LAST = b"data: [DONE]\n\n"


@dataclass(frozen=True)
class Stream:
    """One stream: what the schedule asked for and what a client measured, in milliseconds."""

    asked_first: float
    first: float
    asked_last: float
    last: float


@dataclass(frozen=True)
class Row:
    """A line of the report: medians, and the lateness that 95 of 100 streams stayed under."""

    what: str
    asked_ms: float
    measured_ms: float
    late_p95_ms: float
    late_max_ms: float


def measure(streams: int, words: str) -> list[Row]:
    """So many streams at once, all started together, at the pace that path parameters say."""
    with processes.provider() as server:
        measured = asyncio.run(_all(server.port, streams, words))
        due = _due(server.port)
    return report([Stream(due[run][0], first, due[run][1], last) for run, first, last in measured])


def report(streams: Sequence[Stream]) -> list[Row]:
    """The lines for the first token and for the last."""
    return [
        _row("first token", [(stream.asked_first, stream.first) for stream in streams]),
        _row("last token", [(stream.asked_last, stream.last) for stream in streams]),
    ]


def _row(what: str, pairs: Sequence[tuple[float, float]]) -> Row:
    late = sorted(measured - due for due, measured in pairs)
    return Row(
        what,
        median(due for due, _ in pairs),
        median(measured for _, measured in pairs),
        quantiles(late, n=20)[-1],
        late[-1],
    )


async def _all(port: int, streams: int, words: str) -> list[tuple[str, float, float]]:
    start = asyncio.Event()
    streaming = [
        asyncio.create_task(_stream(port, f"pace{number}", words, start))
        for number in range(streams)
    ]
    await asyncio.sleep(0.5)  # until all of them are connected
    start.set()
    return list(await asyncio.gather(*streaming))


async def _stream(
    port: int, run: str, words: str, start: asyncio.Event
) -> tuple[str, float, float]:
    """The run key, and milliseconds from the request to the first token and to the end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    request = {"model": "m", "stream": True, "messages": [{"role": "user", "content": run}]}
    body = json.dumps(request).encode()
    await start.wait()
    begun = time.perf_counter()
    writer.write(request_bytes(f"/~{run}/plan;{words}/v1/chat/completions", body))
    await reader.readuntil(b'"content":"')
    await reader.readuntil(b'"content":"')  # the first delta has the role and no words
    first = time.perf_counter() - begun
    await reader.readuntil(_LAST)
    last = time.perf_counter() - begun
    writer.close()
    return run, 1000 * first, 1000 * last


def _due(port: int) -> dict[str, tuple[float, float]]:
    """What the schedule asked for, by run key."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/_journal") as reply:
        exchanges = json.load(reply)["exchanges"]
    return {
        exchange["run"]: (
            exchange["paced"]["asked_first_ms"],
            exchange["paced"]["asked_last_ms"],
        )
        for exchange in exchanges
    }
