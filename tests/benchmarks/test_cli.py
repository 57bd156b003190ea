"""What a person or a script meets at the `bench` command line."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from fakeprovider_bench.cli import cli
from fakeprovider_bench.commands.stop import TRIALS
from fakeprovider_bench.output.tables import to_csv, to_markdown
from fakeprovider_bench.report import Report, Row


def bench(*args: str) -> Result:
    return CliRunner().invoke(cli, list(args))


def test_a_runaway_without_any_limit_is_refused_with_what_to_add() -> None:
    result = bench("runaway")
    assert result.exit_code == 2
    assert "never ends" in result.output
    assert "--cap 8,20,50,100" in result.output
    assert "--budget" in result.output


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("runaway", "--cap", "ten"), "'ten' is not a whole number"),
        (("runaway", "--cap", "-3"), "'-3' is not a whole number"),
        (("runaway", "--cap", ","), "the list is empty"),
        (("runaway", "--budget", "much"), "'much' is not an amount in USD"),
        (("runaway", "--budget", "nan"), "'nan' is not an amount in USD"),
        (("plan", "--price-in", "-1"), "'-1' is not an amount in USD"),
        (("runaway", "--budget", "1e999999"), "is not an amount in USD up to 1,000,000,000"),
        (("runaway", "--budget", "1e-400"), "with up to 12 decimals"),
        (("runaway", "--cap", "9" * 5000), "is more than 1,000,000,000"),
        (("plan", "--base-tokens", "1_000_001"), "is more than 1,000,000"),
        (("cancel", "--at", "nan"), "'nan' is not a time from 0 to 86,400 seconds"),
        (("cancel", "--at", "-1"), "'-1' is not a time from 0 to 86,400 seconds"),
        (("cancel", "--at", "soon"), "'soon' is not a time in seconds"),
        (("latency", "--latency", "86_400_001"), "is more than 86,400,000"),
        (("growth", "--parts", "501"), "501 is not in the range"),
        (("plan", "--json", "--csv"), "--json and --csv are different forms of one output"),
        (("all", "--csv", "--markdown", "--json"), "keep one, drop the others"),
        (("cancel", "--prompt-cache"), "No such option '--prompt-cache'"),
        (("plan", "--stream", "--base-tokens", "9", "--", "true"), "--stream, --base-tokens: for"),
        (("plan", "--protocol", "telepathy"), "'telepathy' is not one of"),
        (("plan", "--base-url", "127.0.0.1:9"), "'127.0.0.1:9' is not an http(s) URL"),
        (("plan", "--base-url", "http://[::1"), "base URL 'http://[::1'"),
        (
            ("latency", "--base-url", "http://127.0.0.1:9"),
            "drop --base-url, and unset LLM_BASE_URL",
        ),
        (("runawya", "--cap", "5"), "No such command 'runawya'. Did you mean 'runaway'?"),
    ],
)
def test_a_wrong_command_line_is_told_what_is_wrong_with_status_2(
    args: tuple[str, ...], says: str
) -> None:
    result = bench(*args)
    assert result.exit_code == 2
    assert says in result.output


def test_a_cap_of_zero_is_a_limit_and_no_request_is_made() -> None:
    row = json.loads(bench("runaway", "--cap", "0,1", "--json").stdout)["rows"][0]
    assert (row["turns"], row["tool_runs"], row["cost_usd"]) == (0, 0, "0")
    assert row["status"] == "max_turns_exceeded"


def test_gates_fail_with_status_1_and_name_the_row() -> None:
    over = bench("runaway", "--cap", "8,20", "--fail-over-cost", "0.01")
    assert over.exit_code == 1
    assert "cap 20: cost $0.038038, over $0.01" in over.output
    assert "cap 8:" not in over.output.splitlines()[-1]
    turns = bench("plan", "--fail-over-turns", "2")
    assert turns.exit_code == 1
    assert "3 turns, over 2" in turns.output
    assert bench("plan", "--fail-over-turns", "3").exit_code == 0


def test_csv_and_markdown_carry_the_same_rows_as_json() -> None:
    rows = json.loads(bench("runaway", "--cap", "8,20", "--json").stdout)["rows"]
    lines = list(csv.DictReader(io.StringIO(bench("runaway", "--cap", "8,20", "--csv").stdout)))
    assert [line["policy"] for line in lines] == [row["policy"] for row in rows]
    assert [line["cost_usd"] for line in lines] == [row["cost_usd"] for row in rows]
    markdown = bench("runaway", "--cap", "8,20", "--markdown").stdout
    assert markdown.count("\n| cap ") == 2
    assert "| cap 20 | 20 | 19 | 16,259 | 460 | $0.038038 | 4.19 |" in markdown


def test_markdown_has_one_line_per_row_and_csv_what_is_measured_beside() -> None:
    row = Row(
        policy="a|b",
        turns=0,
        tool_runs=None,
        prompt_tokens=[],
        completion_tokens=[],
        input_tokens=0,
        output_tokens=0,
        cost_usd=None,
        status=None,
        extra={"never answered": "400: one\ntwo"},
    )
    report = Report(scenario="plan", harness="mine", rows=[row])
    header, _, line = to_markdown(report).splitlines()[:3]
    assert line.startswith("| a\\|b | 0 | n/o |")
    assert line.endswith("| 400: one two |")
    assert header.endswith("| never answered |")
    (cells_read,) = csv.DictReader(io.StringIO(to_csv(report)))
    assert json.loads(cells_read["extra"]) == row.extra
    assert (cells_read["estimated"], cells_read["run_id"]) == ("false", "")


def test_json_says_what_is_documented() -> None:
    report = json.loads(bench("runaway", "--cap", "8,9", "--json").stdout)
    assert set(report) == {"scenario", "harness", "rows", "growth", "notes"}
    assert set(report["growth"]) == {"turns", "a", "b", "exponent", "residual"}
    assert {
        "policy",
        "turns",
        "tool_runs",
        "prompt_tokens",
        "completion_tokens",
        "input_tokens",
        "output_tokens",
        "cost_usd",
        "status",
        "stop",
        "answer",
        "effects",
        "wall_ms",
        "harness_ms",
        "estimated",
        "run_id",
    } <= set(report["rows"][0])
    assert set(report["rows"][0]["stop"]) == {
        "kind",
        "value",
        "limit",
        "overshoot",
        "reason",
    }


def test_growth_is_not_guessed_from_fewer_than_eight_turns() -> None:
    assert (
        json.loads(bench("runaway", "--cap", "7", "--budget", "0", "--json").stdout)["growth"]
        is None
    )


def test_list_names_every_scenario_and_every_command_has_help() -> None:
    listed = json.loads(bench("list", "--json").stdout)
    assert {"plan", "runaway", "recover", "denied"} <= {entry["scenario"] for entry in listed}
    for name in cli.list_commands(click.Context(cli)):
        result = bench(name, "--help")
        assert result.exit_code == 0
        assert result.output.count("\n") > 5


def test_every_scenario_is_run_by_the_command_that_the_list_names() -> None:
    trials = {
        script.partition(";")[0] for trial in TRIALS for script in (trial.stops, trial.spares)
    }
    for entry in json.loads(bench("list", "--json").stdout):
        name = entry["command"].removeprefix("bench ")
        assert name in cli.list_commands(click.Context(cli)), entry
        assert name != "stop" or entry["scenario"] in {*trials, "flaky"}


def test_a_scenario_without_a_command_of_its_own_is_told_which_one_runs_it() -> None:
    result = bench("slow", "--at", "1")
    assert result.exit_code == 2
    assert "No such command 'slow': bench cancel runs that scenario" in result.output


def test_the_help_names_every_command_in_a_sentence_that_is_not_cut() -> None:
    lines = bench("--help").output.partition("Commands:")[2].strip().splitlines()
    assert len(lines) == len(cli.list_commands(click.Context(cli)))
    assert not [line for line in lines if not line.endswith(".") or line.endswith("..")]


def test_an_endpoint_that_answers_nothing_is_a_failed_run_and_no_traceback() -> None:
    result = bench("plan", "--base-url", "http://127.0.0.1:9/v1", "--json")
    assert result.exit_code == 1
    assert "no reply from the model at http://127.0.0.1:9/v1" in result.stderr
    (row,) = json.loads(result.stdout)["rows"]
    assert row["turns"] == 0
    assert row["stop"]["kind"] in {"provider_error", "provider_unavailable"}


@pytest.mark.parametrize("command", ["growth", "outer", "resume", "budgets"])
def test_where_nothing_answers_every_command_says_so_and_no_more(command: str) -> None:
    result = bench(command, "--base-url", "http://127.0.0.1:9/v1")
    assert isinstance(result.exception, SystemExit)
    assert result.exit_code == 1
    assert "no reply from the model at http://127.0.0.1:9/v1" in result.output


def test_a_base_url_points_the_harness_elsewhere_and_the_model_name_names_the_script() -> None:
    seen: list[tuple[str, str]] = []

    class Elsewhere(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            seen.append((self.path, json.loads(body)["model"]))
            self.send_response(400)
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(b'{"error":{"message":"no","type":"invalid_request_error"}}')

        def log_message(self, format: str, *args: object) -> None:
            """Keep quiet."""

    with HTTPServer(("127.0.0.1", 0), Elsewhere) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/v1"
        result = CliRunner().invoke(cli, ["plan", "--json"], env={"LLM_BASE_URL": url})
        server.shutdown()
    assert seen == [("/v1/chat/completions", "plan")]
    assert json.loads(result.stdout)["rows"][0]["status"] == "failed"


def test_a_trace_that_cannot_be_written_is_said_before_anything_runs(tmp_path: Path) -> None:
    result = bench("plan", "--trace", str(tmp_path / "no" / "such" / "dir.jsonl"))
    assert result.exit_code == 2
    assert "cannot write" in result.output


@pytest.mark.parametrize("command", ["plan", "growth", "outer", "resume"])
def test_a_trace_for_which_there_is_no_room_is_named(command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "fakeprovider_bench", command, "--trace", "/dev/full"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "/dev/full" in done.stderr
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("number", "shell"),
    [(signal.SIGINT, ""), (signal.SIGTERM, ""), (signal.SIGTERM, "trap '' INT; ")],
    ids=["ctrl-c", "sigterm", "sigterm-to-a-background-job"],
)
def test_ctrl_c_leaves_no_traceback_and_no_process(
    number: signal.Signals, shell: str, tmp_path: Path
) -> None:
    trace = tmp_path / "trace.jsonl"
    command = ["sh", "-c", f'{shell}exec "$@"', "sh"]
    command += [sys.executable, "-P", "-m", "fakeprovider_bench", "runaway", "--cap", "100000"]
    command += ["--trace", str(trace)]
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        while not (trace.exists() and trace.stat().st_size):  # until the run is under way
            assert child.poll() is None
            time.sleep(0.02)
        child.send_signal(number)
        _, errors = child.communicate(timeout=30)
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
    assert child.returncode == 128 + number
    assert "Traceback" not in errors
    with pytest.raises(ProcessLookupError):
        os.killpg(child.pid, 0)


@pytest.mark.parametrize(
    ("redirection", "status", "says"),
    [
        (">/dev/full", 1, "No space left on device"),
        (">&-", 1, "standard output is closed"),
        ("| head -c 1", 0, ""),
    ],
)
def test_output_that_cannot_be_written_is_no_traceback(
    redirection: str, status: int, says: str
) -> None:
    command = f"'{sys.executable}' -P -m fakeprovider_bench plan {redirection}"
    done = subprocess.run(
        ["sh", "-c", command], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == status
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_a_terminal_without_the_characters_gets_others() -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "fakeprovider_bench", "plan"],
        capture_output=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 0, done.stderr
    assert b"$0.00247" in done.stdout


def test_folders_of_the_same_names_in_the_users_repository_change_nothing(tmp_path: Path) -> None:
    for name in ("benchmarks", "scenarios", "harness", "tests"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise RuntimeError('the user's own')\n")
    bench_command = Path(sys.executable).with_name("bench")
    for args in (["plan", "--json"], ["resume", "--json"]):
        done = subprocess.run(
            [str(bench_command), *args],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["rows"][-1]["status"] == "completed"


def test_the_lines_of_a_trace_are_joined_with_their_row_by_the_run_id(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    rows = json.loads(bench("runaway", "--cap", "2,3", "--json", "--trace", str(path)).stdout)[
        "rows"
    ]
    events = [json.loads(line) for line in path.read_text().splitlines()]
    for row in rows:
        turns = [e for e in events if e["type"] == "turn" and e["run_id"] == row["run_id"]]
        assert [turn["prompt_tokens"] for turn in turns] == row["prompt_tokens"]
    assert rows[0]["run_id"] != rows[1]["run_id"]
