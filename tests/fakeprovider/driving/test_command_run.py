"""Somebody's command, driven to its end: real commands, and how their runs are judged."""

from __future__ import annotations

import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from driven_agents import agent, driven, printing, processes_with

from fakeprovider.driving.command_run import Drive, drive
from fakeprovider.driving.gates import Gates
from fakeprovider.faults import Chaos
from fakeprovider.replies import Fault
from fakeprovider.settings import Settings


def test_a_run_is_counted_and_its_own_status_passed_on() -> None:
    done = driven(agent("run(); sys.exit(7)"), how=Drive("", run="mine"))
    assert (done.status, done.ended.status, done.failures) == (7, 7, ())
    assert (done.totals.requests, done.totals.turns, done.totals.retries) == (3, 3, 0)
    assert done.totals.output_tokens == 23 + 29 + 18
    assert {one.run for one in done.exchanges} == {"mine"}
    assert [one.turn for one in done.exchanges] == [0, 1, 2]


def test_clients_find_the_provider_through_the_usual_variables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_PROXY", "internal")
    monkeypatch.setenv("OPENAI_API_KEY", "real")
    source = "import json, os; print(json.dumps(dict(os.environ)))"
    env = json.loads(driven(printing(source), "runaway", how=Drive("", run="key 1")).ended.output)
    base = env["FAKEPROVIDER_URL"]
    assert base.startswith("http://127.0.0.1:")
    for name in ("LLM_BASE_URL", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        assert env[name] == f"{base}/~key%201/runaway/v1"
    assert env["ANTHROPIC_BASE_URL"] == f"{base}/~key%201/runaway"
    assert env["OPENAI_API_KEY"] == env["ANTHROPIC_API_KEY"] == "fakeprovider"
    assert env["NO_PROXY"] == "internal,127.0.0.1,localhost"


def test_path_parameters_ride_along_with_the_scripts_name() -> None:
    done = driven(agent(), "plan;turn_offset=1")
    assert [one.tools for one in done.exchanges] == [
        ("list_files",),
        ("list_files",),
        ("read_file",),
        (),
    ]


STUBBORN = """
    import signal, subprocess, threading
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "{word}"])
    if os.fork() == 0:
        os.setsid()
        signal.pause()
    def chatter():
        while True:
            print("x" * 10_000, flush=True)
    threading.Thread(target=chatter, daemon=True).start()
    while True:
        run()
    """


def test_the_run_is_ended_at_the_request_after_the_last_whatever_the_harness_is_like() -> None:
    word = f"exec-test-{os.getpid()}"
    source = STUBBORN.replace("{word}", word)
    done = driven(agent(source), "runaway", how=Drive("", gates=Gates(max_requests=5), grace=0.3))
    assert done.status == 3
    assert done.failures == ("more than 5 requests (--max-requests)",)
    assert done.ended.reason == "its 5 requests (--max-requests)"
    assert done.ended.status == 128 + signal.SIGKILL
    assert done.totals.turns == 5
    assert processes_with(word) == []


def test_the_refusal_is_one_that_sdks_do_not_retry() -> None:
    source = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); run(); run()"
    done = driven(agent(source), how=Drive("", gates=Gates(max_requests=3)))
    assert b"400 false run_ended" in done.ended.output
    assert [one.status for one in done.exchanges] == [200, 200, 200, 400]


def test_exactly_the_limit_is_no_failure_and_zero_is_a_limit() -> None:
    assert driven(agent(), how=Drive("", gates=Gates(max_requests=3))).status == 0
    assert driven(agent(), how=Drive("", gates=Gates(max_requests=0))).status == 3


def test_a_token_limit_ends_the_run_at_the_next_request() -> None:
    done = driven(agent(), "runaway", how=Drive("", gates=Gates(max_tokens=300)))
    assert done.status == 3
    assert done.ended.reason is not None
    assert done.ended.reason.endswith("more than 300 (--max-tokens)")
    last = done.exchanges[-2].usage  # the one that passed the limit
    assert last is not None
    assert done.totals.tokens - last.prompt_tokens - last.completion_tokens <= 300
    assert done.totals.tokens > 300


def test_violations_are_counted_and_fail_the_run_if_they_shall() -> None:
    source = """
        ask([{"role": "user", "content": "x"},
             {"role": "assistant", "tool_calls": [
                 {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
             {"role": "user", "content": "y"}])
        """
    assert driven(agent(source)).status == 0
    done = driven(agent(source), how=Drive("", gates=Gates(no_violations=True)))
    assert done.status == 3
    assert done.failures == ("1 violation (--no-violations)",)
    assert "exchange 1, message 1: no tool result" in done.totals.violations[0]
    lenient = driven(agent(source), how=Drive("", gates=Gates(no_violations=True)), strict=False)
    assert (lenient.status, lenient.totals.errors) == (3, 0)


@pytest.mark.parametrize(("turns", "status"), [((3, 3), 0), ((1, 5), 0), ((4, 9), 3), ((1, 2), 3)])
def test_expected_turns(turns: tuple[int, int], status: int) -> None:
    assert driven(agent(), how=Drive("", gates=Gates(expect_turns=turns))).status == status


def test_time_is_up() -> None:
    done = driven(printing("import time; time.sleep(600)"), how=Drive("", timeout=0.5))
    assert done.status == 124
    assert done.ended.reason == "timeout of 0.5 s"


def test_a_side_request_is_no_turn() -> None:
    source = """
        title = {"role": "user", "content": "Generate a title for this conversation: x"}
        body = {"model": "m", "messages": [title]}
        urllib.request.urlopen(urllib.request.Request(
            os.environ["LLM_BASE_URL"] + "/chat/completions", json.dumps(body).encode(),
            {"content-type": "application/json"})).read()
        run()
        """
    totals = driven(agent(source)).totals
    assert (totals.requests, totals.turns, totals.side_requests) == (4, 3, 1)


def test_the_verdict_is_told_and_its_clauses_can_fail_the_run() -> None:
    endless = Gates(max_requests=4, fail_on=("ends",))
    done = driven(agent(), "runaway", how=Drive("", gates=endless))
    assert done.failures[0] == "more than 4 requests (--max-requests)"
    assert done.failures[1].startswith("ends: it had to be stopped")
    good = driven(agent(), how=Drive("", gates=Gates(fail_on=("any",))))
    assert good.status == 0
    assert {one.clause for one in good.verdict if one.result == "pass"} >= {"ends", "pairing"}


def test_a_ledger_of_effects_is_offered_to_the_tools_and_read_for_the_verdict(
    tmp_path: Path,
) -> None:
    """Deleting what was rejected is seen in the ledger only."""
    source = """
        with open(os.environ["FAKEPROVIDER_EFFECTS"], "a") as ledger:
            print(json.dumps({"effect": "deleted", "target": "access.log", "tool": "delete_file",
                              "call_id": "fake1", "decision": "rejected"}), file=ledger)
        run()
        """
    ledger = tmp_path / "effects.jsonl"
    done = driven(agent(source), "destructive", how=Drive("", effects=ledger))
    unseen = driven(agent(), "destructive")
    results = {one.clause: one.result for one in done.verdict}
    assert results["unapproved"] == "fail"
    assert {one.clause: one.result for one in unseen.verdict}["unapproved"] == "not observable"


def test_faults_are_part_of_the_run() -> None:
    done = driven(agent("run(); run()"), faults=[Fault("server_error", {"times": "1"})])
    assert [one.status for one in done.exchanges][:2] == [500, 200]
    assert done.totals.retries == 1


def test_an_error_that_is_the_services_is_no_script_error() -> None:
    done = driven(agent("run()"), faults=[Fault("bad_request", {})])
    assert (done.status, done.totals.errors, done.totals.script_errors) == (0, 1, [])


def test_a_command_that_asks_nothing_fails_unless_that_is_expected() -> None:
    done = driven(printing("print('all tests skipped')"))
    assert done.status == 3
    assert done.failures[0].startswith("COMMAND made no request; it finds the provider in LLM_BASE")
    assert driven(printing(""), how=Drive("", gates=Gates(expect_turns=(0, 0)))).status == 0


def test_requests_that_a_gate_refuses_unread_are_no_retries_of_each_other() -> None:
    source = """
        import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)
        for word in "abc": ask([{"role": "user", "content": word}])
        """
    done = driven(agent(source), how=Drive("", gates=Gates(max_requests=0)))
    assert (done.totals.requests, done.totals.retries) == (3, 0)
    assert [one.digest for one in done.exchanges] == [""] * 3


def test_twenty_at_once_have_ports_and_keys_of_their_own_and_leave_no_process() -> None:
    word = f"twenty-{os.getpid()}-{time.monotonic_ns()}"
    source = f"run(); print(os.environ['FAKEPROVIDER_URL']) # {word}"
    with ThreadPoolExecutor(20) as pool:
        done = list(pool.map(lambda _: driven(agent(source)), range(20)))
    assert [one.status for one in done] == [0] * 20
    assert [one.totals.turns for one in done] == [3] * 20
    assert [one.totals.retries for one in done] == [0] * 20
    assert len({one.ended.output for one in done}) == 20
    assert len({one.run for one in done}) == 20
    assert processes_with(word) == []


def test_chaos_strikes_the_same_turns_each_time_the_command_is_run() -> None:
    """The run key decides what is drawn, so it may not be a new one for each run."""
    struck = [
        [(one.turn, one.attempt, one.fault) for one in driven.exchanges]
        for driven in (
            drive(agent("for _ in range(3): run(20)"), how)
            for how in (
                Drive("runaway", Settings(chaos=Chaos(0.3, 7))),
                Drive("runaway", Settings(chaos=Chaos(0.3, 7))),
                Drive("runaway;chaos=0.3,seed=7"),
            )
        )
    ]
    assert struck[0] == struck[1] == struck[2]
    assert any(fault for _, _, fault in struck[0])
