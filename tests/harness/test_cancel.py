"""The signal that ends a run, where it meets an event loop that ends."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fakeprovider_harness.cancel import Cancel, wake


def test_a_signal_reaches_all_who_listen_though_the_loop_of_one_is_closed_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cancel, loop, reached = Cancel(), asyncio.new_event_loop(), []
    told, waiting = loop.call_soon_threadsafe, loop.create_future()

    def closed_meanwhile(*callback: Any) -> asyncio.Handle:
        loop.close()
        return told(*callback)

    monkeypatch.setattr(loop, "call_soon_threadsafe", closed_meanwhile)
    cancel.listen(lambda: wake(loop, waiting))
    cancel.listen(lambda: reached.append("the child process"))
    cancel.set()
    assert reached == ["the child process"]
