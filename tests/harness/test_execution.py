"""A tool function that outlives the event loop of its run."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import pytest

from fakeprovider_harness.tooling import execution
from fakeprovider_harness.tooling.execution import Job, Work


@pytest.mark.parametrize("value", [lambda: "done", lambda: asyncio.sleep(0)], ids=["value", "wait"])
def test_a_loop_that_was_torn_down_leaves_no_traceback_of_the_thread(
    monkeypatch: pytest.MonkeyPatch, value: Callable[[], Any]
) -> None:
    """As where Ctrl-C comes between the start of the thread and whoever would give it up."""
    ended: SimpleQueue[BaseException | None] = SimpleQueue()
    go_on = threading.Event()

    def watched(self: execution.Workers, job: Job) -> None:
        def body() -> None:
            try:
                job()
                ended.put(None)
            except BaseException as error:
                ended.put(error)

        threading.Thread(target=body, daemon=True).start()

    def tool() -> Any:
        go_on.wait(10)
        return value()

    async def start() -> Work:
        return Work(tool, {})

    monkeypatch.setattr(execution.Workers, "run", watched)
    work = asyncio.run(start())
    go_on.set()
    assert ended.get(timeout=10) is None
    assert work.ended is not None
