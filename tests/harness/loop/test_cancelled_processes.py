"""The processes that tools start, as a run ends them and as they report."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable

import pytest
from effects_ledger import Ledger

from fakeprovider_harness import Cancel, RunState, reject, run, run_process
from fakeprovider_harness.models.scripted import ScriptedModel, calls
from fakeprovider_harness.tooling.process import ProcessCancelled


def start() -> RunState:
    return RunState.start("task", run_id="r")


def outcomes(state: RunState) -> list[tuple[str | None, str | None]]:
    return [(m.call_id, m.outcome) for m in state.messages if m.role == "tool"]


def wait_for(fact: Callable[[], bool], seconds: float = 5) -> None:
    end = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < end, "it did not happen"
        threading.Event().wait(0.005)


# Processes


def members(group_of: int) -> list[int]:
    """The live processes whose session is `group_of`."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as stat:
                    fields = stat.read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[3]) == group_of and fields[0] != "Z":
                found.append(int(entry))
    return found


LEADER = "echo $$; "


@pytest.mark.parametrize(
    ("script", "timed_out"),
    [
        ("(trap '' TERM; sleep 600) & wait", True),
        ("trap '' TERM; sleep 600 & sleep 600", True),
        ("sleep 600 & echo hi", False),
    ],
)
def test_a_process_ends_in_time_with_its_whole_group_and_keeps_its_output(
    script: str, timed_out: bool
) -> None:
    began = time.monotonic()
    done = run_process(["sh", "-c", LEADER + script], timeout=0.3, grace=0.1)
    assert time.monotonic() - began < 2
    assert done.timed_out is timed_out
    leader, *rest = done.output.split()
    assert rest == ([] if timed_out else ["hi"])
    wait_for(lambda: members(int(leader)) == [])


def test_a_cancelled_process_keeps_its_output_and_leaves_nothing() -> None:
    cancel = Cancel()
    timer = threading.Timer(0.2, cancel.set)
    timer.start()
    with pytest.raises(ProcessCancelled) as caught:
        run_process(["sh", "-c", LEADER + "sleep 600"], cancel=cancel)
    timer.join()
    wait_for(lambda: members(int(str(caught.value))) == [])


def test_a_process_sees_no_provider_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "LLM_API_KEY", "LLM_BASE_URL", "SECRET"):
        monkeypatch.setenv(name, "hush")
    inherited = run_process(["env"]).output
    assert "hush" not in inherited
    assert "PATH=" in inherited


def test_a_process_reports_its_status_and_both_ends_of_a_long_output() -> None:
    done = run_process(["sh", "-c", "seq 1 100; exit 3"], limit=8)
    assert done.status == 3
    assert done.output == "1\n\n[284 bytes left out]\n9\n100\n"


def test_a_process_that_floods_is_ended_and_its_output_says_so() -> None:
    """Whatever it writes, what is kept of it is bounded, in memory and on disk."""
    began = time.monotonic()
    done = run_process(["yes"], limit=40, flood=1_000_000, timeout=30)
    assert time.monotonic() - began < 15
    assert (done.flooded, done.timed_out, done.status) == (True, False, -signal.SIGTERM)
    assert done.output.endswith("y\n\n[ended: it wrote more than 1000000 bytes]\n")
    assert len(done.output) < 150


def test_a_rejected_call_stays_rejected_when_the_run_is_cancelled(ledger: Ledger) -> None:
    tools = [ledger.write(needs_approval=True)]
    model = ScriptedModel([calls(("a", "write", {"x": 1}), ("b", "write", {"x": 2}))])
    state = reject(run(start(), model=model, tools=tools, stop=None), "b", "no")
    cancel = Cancel()
    cancel.set()
    state = run(state, model=model, tools=tools, stop=None, cancel=cancel)
    assert outcomes(state) == [("a", "not_started"), ("b", "denied")]
