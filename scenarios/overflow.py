"""Files that are too long to keep: the context fills up though every step is progress."""

from __future__ import annotations

from collections.abc import Mapping

from scenarios.scenario import Scenario

LINE = "GET /orders 200 in 21 ms; queue empty; worker 3 idle; cache warm; nothing to report.\n"


def files(parts: int = 99) -> Mapping[str, str]:
    """Parts of some two thousand tokens each."""
    return {f"part-{part:02}.txt": f"part {part}\n{LINE * 80}" for part in range(1, parts + 1)}


OVERFLOW = Scenario(
    name="overflow",
    script="overflow",
    about="reads one long file after another, for ever",
    expect="stopped before the context is full, and resumable",
    ends=False,
    files=files(),
)
