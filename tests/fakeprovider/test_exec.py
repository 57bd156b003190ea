"""`fakeprovider exec`: real commands against a provider of their own, and how they are judged."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from click.testing import CliRunner

from fakeprovider.cli import main
from fakeprovider.driving.command_run import Drive, Driven, drive
from fakeprovider.driving.gates import Gates
from fakeprovider.driving.run_totals import Tally
from fakeprovider.faults import Chaos
from fakeprovider.journal import Exchange, Usage
from fakeprovider.replies import Fault
from fakeprovider.server import Server

AGENT = """
    import json, os, sys, urllib.error, urllib.request
    def ask(messages, **headers):
        body = {"model": "m", "messages": messages, "tools": [
            {"type": "function", "function": {"name": name}}
            for name in ("list_files", "read_file", "delete_file")]}
        request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions",
            json.dumps(body).encode(), {"content-type": "application/json", **headers})
        try:
            return json.load(urllib.request.urlopen(request))["choices"][0]["message"]
        except urllib.error.HTTPError as error:
            print(error.code, error.headers["x-should-retry"], json.load(error)["error"]["code"],
                  flush=True)
            return None
    def run(limit=1000):
        messages = [{"role": "user", "content": "Which file?"}]
        for _ in range(limit):
            message = ask(messages)
            if message is None or not message.get("tool_calls"):
                return message
            messages.append(message)
            messages.append({"role": "tool", "tool_call_id": message["tool_calls"][0]["id"],
                             "content": "Done."})
    """


def agent(source: str = "run()") -> list[str]:
    """A harness that knows nothing of us but the base URL."""
    return [sys.executable, "-c", textwrap.dedent(AGENT) + textwrap.dedent(source)]


def driven(command: list[str], script: str = "plan", **how: Any) -> Driven:
    return drive(command, Drive(script, capture=10_000, **how))


def printing(source: str) -> list[str]:
    return [sys.executable, "-c", textwrap.dedent(source)]


def test_a_run_is_counted_and_its_own_status_passed_on() -> None:
    done = driven(agent("run(); sys.exit(7)"), run="mine")
    assert (done.status, done.ended.status, done.failures) == (7, 7, ())
    assert (done.tally.requests, done.tally.turns, done.tally.retries) == (3, 3, 0)
    assert done.tally.output_tokens == 23 + 29 + 18
    assert {one.run for one in done.exchanges} == {"mine"}
    assert [one.turn for one in done.exchanges] == [0, 1, 2]


def test_clients_find_the_provider_through_the_usual_variables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_PROXY", "internal")
    monkeypatch.setenv("OPENAI_API_KEY", "real")
    source = "import json, os; print(json.dumps(dict(os.environ)))"
    env = json.loads(driven(printing(source), "runaway", run="key 1").ended.output)
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
    done = driven(agent(source), "runaway", gates=Gates(max_requests=5), grace=0.3)
    assert done.status == 3
    assert done.failures == ("more than 5 requests (--max-requests)",)
    assert done.ended.reason == "its 5 requests (--max-requests)"
    assert done.ended.status == 128 + signal.SIGKILL
    assert done.tally.turns == 5
    assert processes_with(word) == []


def processes_with(word: str) -> list[str]:
    listed = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True)
    return [line for line in listed.stdout.splitlines() if word in line and " ps " not in line]


def test_the_refusal_is_one_that_sdks_do_not_retry() -> None:
    source = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); run(); run()"
    done = driven(agent(source), gates=Gates(max_requests=3))
    assert b"400 false run_ended" in done.ended.output
    assert [one.status for one in done.exchanges] == [200, 200, 200, 400]


def test_exactly_the_limit_is_no_failure_and_zero_is_a_limit() -> None:
    assert driven(agent(), gates=Gates(max_requests=3)).status == 0
    assert driven(agent(), gates=Gates(max_requests=0)).status == 3


def test_a_token_limit_ends_the_run_at_the_next_request() -> None:
    done = driven(agent(), "runaway", gates=Gates(max_tokens=300))
    assert done.status == 3
    assert done.ended.reason is not None
    assert done.ended.reason.endswith("more than 300 (--max-tokens)")
    last = done.exchanges[-2].usage  # the one that passed the limit
    assert last is not None
    assert done.tally.tokens - last.prompt_tokens - last.completion_tokens <= 300
    assert done.tally.tokens > 300


def test_violations_are_counted_and_fail_the_run_if_they_shall() -> None:
    source = """
        ask([{"role": "user", "content": "x"},
             {"role": "assistant", "tool_calls": [
                 {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
             {"role": "user", "content": "y"}])
        """
    assert driven(agent(source)).status == 0
    done = driven(agent(source), gates=Gates(no_violations=True))
    assert done.status == 3
    assert done.failures == ("1 violation (--no-violations)",)
    assert "exchange 1, message 1: no tool result" in done.tally.violations[0]
    lenient = driven(agent(source), gates=Gates(no_violations=True), strict=False)
    assert (lenient.status, lenient.tally.errors) == (3, 0)


@pytest.mark.parametrize(("turns", "status"), [((3, 3), 0), ((1, 5), 0), ((4, 9), 3), ((1, 2), 3)])
def test_expected_turns(turns: tuple[int, int], status: int) -> None:
    assert driven(agent(), gates=Gates(expect_turns=turns)).status == status


def test_time_is_up() -> None:
    done = driven(printing("import time; time.sleep(600)"), timeout=0.5)
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
    tally = driven(agent(source)).tally
    assert (tally.requests, tally.turns, tally.side_requests) == (4, 3, 1)


def test_the_verdict_is_told_and_its_clauses_can_fail_the_run() -> None:
    endless = Gates(max_requests=4, fail_on=("ends",))
    done = driven(agent(), "runaway", gates=endless)
    assert done.failures[0] == "more than 4 requests (--max-requests)"
    assert done.failures[1].startswith("ends: it had to be stopped")
    good = driven(agent(), gates=Gates(fail_on=("any",)))
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
    done = driven(agent(source), "destructive", effects=ledger)
    unseen = driven(agent(), "destructive")
    results = {one.clause: one.result for one in done.verdict}
    assert results["unapproved"] == "fail"
    assert {one.clause: one.result for one in unseen.verdict}["unapproved"] == "not observable"


def test_faults_are_part_of_the_run() -> None:
    done = driven(agent("run(); run()"), faults=[Fault("server_error", {"times": "1"})])
    assert [one.status for one in done.exchanges][:2] == [500, 200]
    assert done.tally.retries == 1


# What the agent swallows


SCRIPT_ERRORS = {
    "expectation_failed": "turns: [{expect: {user: other}, say: x}]",
    "script_ran_out": "turns: [{ask: list_files}]",
    "script_failed": "turns: [{say: '{{ result }}'}]",
    "recording_drifted": "recorded: [{request: {messages: [{user: other}]}, say: x}]",
}


@pytest.mark.parametrize("code", SCRIPT_ERRORS)
def test_a_script_error_fails_the_run_though_the_agent_swallows_it(
    code: str, tmp_path: Path
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(SCRIPT_ERRORS[code])
    options = ["exec", "--script", str(file), "--", *agent("run()")]
    result = CliRunner().invoke(main, options)
    assert result.exit_code == 3
    assert "  script errors 1\n    exchange " in result.output
    assert f"({code})" in result.output
    assert "GATE FAILED: 1 script error" in result.output
    lenient = CliRunner().invoke(main, ["exec", "--allow-script-errors", "--json", *options[1:]])
    assert lenient.exit_code == 0
    assert "'mine'" in json.loads(lenient.stdout)["script_errors"][0]


def test_an_error_that_is_the_services_is_no_script_error() -> None:
    done = driven(agent("run()"), faults=[Fault("bad_request", {})])
    assert (done.status, done.tally.errors, done.tally.script_errors) == (0, 1, [])


def test_a_command_that_asks_nothing_fails_unless_that_is_expected() -> None:
    done = driven(printing("print('all tests skipped')"))
    assert done.status == 3
    assert done.failures[0].startswith("COMMAND made no request; it finds the provider in LLM_BASE")
    assert driven(printing(""), gates=Gates(expect_turns=(0, 0))).status == 0


def test_requests_that_a_gate_refuses_unread_are_no_retries_of_each_other() -> None:
    source = """
        import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)
        for word in "abc": ask([{"role": "user", "content": word}])
        """
    done = driven(agent(source), gates=Gates(max_requests=0))
    assert (done.tally.requests, done.tally.retries) == (3, 0)
    assert [one.digest for one in done.exchanges] == [""] * 3


# A23: the cursor


USER = {"role": "user", "content": "Which file?"}
TOOLS = [{"type": "function", "function": {"name": name}} for name in ("list_files", "read_file")]


def post(server: Server, run: str, **headers: str) -> httpx.Response:
    return httpx.post(
        f"{server.url_for('plan', run=run)}/chat/completions",
        json={"model": "m", "messages": [USER], "tools": TOOLS},
        headers=headers,
        timeout=60,
    )


def tally_of(server: Server, run: str) -> Tally:
    tally = Tally()
    for exchange in server.journal.exchanges(run):
        tally.add(exchange)
    return tally


def test_a23_a_retry_by_its_own_word_gets_the_same_reply_and_is_counted_as_one(
    server: Server,
) -> None:
    first = post(server, "a23")
    second = post(server, "a23", **{"x-stainless-retry-count": "1"})
    assert first.content == second.content
    assert [one.attempt for one in server.journal.exchanges("a23")] == [0, 1]
    assert tally_of(server, "a23").retries == 1


def test_a23_the_same_body_on_purpose_is_no_retry(server: Server) -> None:
    assert post(server, "twice").content == post(server, "twice").content
    assert tally_of(server, "twice").retries == 0


@pytest.mark.parametrize("failed", [{"cancelled": True}, {"status": 503, "finish": ""}])
def test_a23_the_same_body_after_it_failed_is_a_retry(failed: dict[str, Any]) -> None:
    tally = Tally()
    answered = Exchange(digest="d", finish="stop", usage=Usage(10, 5))
    tally.add(msgspec.structs.replace(answered, **failed))
    tally.add(answered)
    tally.add(answered)  # and once more, on purpose
    assert (tally.requests, tally.turns, tally.retries) == (3, 2, 1)
    assert tally.tokens == 30


def test_a23_two_runs_that_look_alike_have_journals_of_their_own_and_no_false_retry(
    server: Server,
) -> None:
    ready = threading.Barrier(2)

    def run(key: str) -> None:
        client = {**os.environ, "OPENAI_BASE_URL": server.url_for("plan", run=key)}
        ready.wait()
        subprocess.run(agent(), env=client, check=True, timeout=60)

    threads = [threading.Thread(target=run, args=(key,)) for key in ("left", "right")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for key in ("left", "right"):
        assert [one.turn for one in server.journal.exchanges(key)] == [0, 1, 2]
        assert tally_of(server, key).retries == 0


# The command line


EXEC = [sys.executable, "-m", "fakeprovider", "exec"]


def test_the_summary_goes_to_stderr_and_the_commands_output_stays_its_own() -> None:
    done = subprocess.run(
        [*EXEC, "--script", "plan", "--expect-turns", "9", "--", *agent("run(); print('mine')")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 3
    assert done.stdout == "mine\n"
    assert "requests 3 (turns 3, retries 0, errors 0" in done.stderr
    assert "GATE FAILED: 3 turns, expected 9 (--expect-turns)" in done.stderr


def test_the_summary_as_json() -> None:
    result = CliRunner().invoke(
        main, ["exec", "--script", "plan", "--json", "--run", "r", "--", *agent("run()")]
    )
    summary = json.loads(result.stdout)
    assert result.exit_code == 0
    assert summary["run"] == "r"
    assert (summary["turns"], summary["output_tokens"], summary["failed_gates"]) == (3, 70, [])


def test_a_yaml_file_is_a_script_and_so_are_those_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("turns: [{say: hello}]")
    for options in (
        ["--script", str(tmp_path / "mine.yaml")],
        ["--script", "mine", "--scripts", str(tmp_path)],
    ):
        result = CliRunner().invoke(
            main, ["exec", *options, "--expect-turns", "1", "--", *agent("run()")]
        )
        assert result.exit_code == 0, result.output


def test_calls_are_fitted_to_the_clients_tools() -> None:
    mapping = 'scan_archive=read_file:{"path": "a"}'
    result = CliRunner().invoke(
        main,
        ["exec", "--script", "slow", "--map", mapping, "--json", "--", *agent("run()")],
    )
    summary = json.loads(result.stdout)
    assert "scan_archive is not offered: read_file" in summary["replaced"][0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--script", "nobody"], "no script named 'nobody'; there are:"),
        (["--script", "gone.yaml"], "cannot read gone.yaml: No such file"),
        (["--script", "plan", "--map", "a"], "--map 'a': must be NAME=TOOL or NAME=TOOL:JSON"),
        (["--script", "plan", "--map", "a=b:{"], "'{' is no JSON"),
        (["--script", "plan", "--map", "a=b:1"], "the arguments must be a JSON object"),
        (["--script", "plan", "--expect-turns", "5-2"], "'5-2': must be a number such as 3"),
        (
            ["--script", "plan", "--journal", "/no/such/j.jsonl"],
            "cannot write the journal /no/such",
        ),
        (["--script", "plan", "--client", "emacs"], "'emacs' is not one of 'codex'"),
    ],
)
def test_what_cannot_be_run_is_said_before_anything_is_started(
    options: list[str], message: str, tmp_path: Path
) -> None:
    mark = tmp_path / "started"
    result = CliRunner().invoke(main, ["exec", *options, "--", "touch", str(mark)])
    assert result.exit_code in (1, 2)
    assert message in result.output
    assert not mark.exists()


def test_a_command_that_is_not_there_has_the_shells_status() -> None:
    result = CliRunner().invoke(main, ["exec", "--script", "plan", "--", "/no/such/program"])
    assert result.exit_code == 127
    assert "  command could not be started: No such file or directory: /no/such" in result.output


def test_a_signal_reaches_the_command_and_both_end() -> None:
    source = "print(os.getpid(), flush=True); import time; time.sleep(600)"
    with subprocess.Popen(
        [*EXEC, "--script", "plan", "--", *agent(source)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        inner = int(process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 128 + signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(inner, 0)


def test_twenty_at_once_have_ports_and_keys_of_their_own_and_leave_no_process() -> None:
    word = f"twenty-{os.getpid()}-{time.monotonic_ns()}"
    source = f"run(); print(os.environ['FAKEPROVIDER_URL']) # {word}"
    with ThreadPoolExecutor(20) as pool:
        done = list(pool.map(lambda _: driven(agent(source)), range(20)))
    assert [one.status for one in done] == [0] * 20
    assert [one.tally.turns for one in done] == [3] * 20
    assert [one.tally.retries for one in done] == [0] * 20
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
                Drive("runaway", chaos=Chaos(0.3, 7)),
                Drive("runaway", chaos=Chaos(0.3, 7)),
                Drive("runaway;chaos=0.3,seed=7"),
            )
        )
    ]
    assert struck[0] == struck[1] == struck[2]
    assert any(fault for _, _, fault in struck[0])
