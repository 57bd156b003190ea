"""The harness's own time: a three-turn run beside a raw httpx loop that sends the same requests."""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from dataclasses import dataclass
from typing import Any

import httpx

from fakeprovider_harness import MaxTurns, RunState, Tool, arun
from fakeprovider_harness.models import ChatModel
from fakeprovider_scenarios import find
from fakeprovider_scenarios.workspace import FILES, NO_PARAMETERS, PATH

PLAN = find("plan")
TOOLS = [  # in memory: what a real tool does is not the harness's time
    Tool("list_files", "List the files.", NO_PARAMETERS, lambda: list(FILES), read_only=True),
    Tool("read_file", "Read one file.", PATH, lambda path: FILES[path], read_only=True),
]


@dataclass(frozen=True)
class LoopSpeed:
    """Milliseconds per three-turn run, medians over `runs` runs of each kind."""

    runs: int
    raw_ms: float
    harness_ms: float

    @property
    def ratio(self) -> float:
        """The harness's time over the raw loop's."""
        return self.harness_ms / self.raw_ms


def measure(base_url: str, runs: int = 200) -> LoopSpeed:
    """Alternate both kinds `runs` times against a provider at `base_url`, which runs elsewhere."""
    return asyncio.run(_measure(base_url, runs))


async def _measure(base_url: str, runs: int) -> LoopSpeed:
    raw: list[float] = []
    ours: list[float] = []
    model = ChatModel(base_url, "plan")
    bodies = await _bodies(base_url)
    async with httpx.AsyncClient(base_url=base_url) as client:
        for _ in range(runs):
            raw.append(await _timed_raw(client, bodies))
            ours.append(await _timed_harness(model))
    await model.aclose()
    warm = runs // 10
    return LoopSpeed(runs, statistics.median(raw[warm:]), statistics.median(ours[warm:]))


async def _timed_raw(client: httpx.AsyncClient, bodies: list[Any]) -> float:
    """A loop without any harness: encode, send, decode, three times."""
    started = time.perf_counter()
    for body in bodies:
        response = await client.post("/chat/completions", json=body)
        response.json()
    return (time.perf_counter() - started) * 1000


async def _timed_harness(model: ChatModel) -> float:
    started = time.perf_counter()
    state = RunState.start(PLAN.task, system=PLAN.system)
    await arun(state, model=model, tools=TOOLS, stop=MaxTurns(20))
    elapsed = (time.perf_counter() - started) * 1000
    if len(state.turns) != 3:
        raise RuntimeError(f"the plan took {len(state.turns)} turns: {state.stop}")
    return elapsed


async def _bodies(base_url: str) -> list[Any]:
    """The three requests of a plan, as the harness itself sends them."""
    keeping = Keeping()
    model = ChatModel(base_url, "plan", transport=keeping)
    await _timed_harness(model)
    await model.aclose()
    return [json.loads(body) for body in keeping.bodies]


class Keeping(httpx.AsyncHTTPTransport):
    """Sends requests on and keeps their bodies."""

    def __init__(self) -> None:
        super().__init__()
        self.bodies: list[bytes] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Keep the body, then send."""
        self.bodies.append(request.content)
        return await super().handle_async_request(request)
