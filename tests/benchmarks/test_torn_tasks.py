"""SIGTERM in a background job, where the event loop does not take an interruption as its own."""

from __future__ import annotations

import logging
import signal

import pytest

from fakeprovider_bench.cli import _Ended


def test_what_the_event_loop_says_of_a_task_that_was_torn_is_not_shown(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    loop_log = logging.getLogger("asyncio")
    level = loop_log.level
    monkeypatch.setattr(signal, "getsignal", lambda number: signal.SIG_IGN)
    try:
        with pytest.raises(KeyboardInterrupt):
            _Ended()(signal.SIGTERM, None)
        loop_log.error("Task exception was never retrieved")
    finally:
        loop_log.setLevel(level)
    assert caplog.records == []
