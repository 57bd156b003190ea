"""The trace as a file."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from fakeprovider_harness.trace import JsonlTrace, LateEffect, Note


def test_a_late_event_is_appended_to_a_trace_that_was_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with JsonlTrace("trace.jsonl") as trace:
        trace(Note("run", "first"))
    os.chdir("/")
    thread = threading.Thread(target=trace, args=(LateEffect("run", "delete", "c1", True),))
    thread.start()
    thread.join()
    lines = (tmp_path / "trace.jsonl").read_text().splitlines()
    assert [json.loads(line)["type"] for line in lines] == ["note", "late_effect"]
