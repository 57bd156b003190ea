"""Killed, cancelled, delegated, slowed down: runs that are not left alone, in the bench."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from fakeprovider.tokens import encoding
from fakeprovider_bench.cli import cli
from fakeprovider_bench.endpoint import open_endpoint
from fakeprovider_bench.options import Options
from fakeprovider_bench.output.tables import ESTIMATED, cells, cost, to_markdown, usd
from fakeprovider_bench.report import Report, Row

FIGURES = json.loads(
    (Path(__file__).parents[1] / "reference_figures.json").read_text(encoding="utf-8"),
    parse_float=Decimal,
)


def rows(*args: str) -> dict[str, dict[str, Any]]:
    result = CliRunner().invoke(cli, [*args, "--json"])
    assert result.exit_code == 0, result.output
    return {row["policy"]: row for row in json.loads(result.stdout)["rows"]}


@pytest.mark.parametrize("form", ["--whole", "--stream"])
def test_a_run_killed_after_turn_two_goes_on_in_another_process_and_repeats_nothing(
    form: str,
) -> None:
    figure = FIGURES["resume_plan"]
    result = CliRunner().invoke(cli, ["resume", form, "--json"])
    report = json.loads(result.stdout)
    killed, resumed = report["rows"]
    assert killed["extra"] == {"exit": -9, "messages": figure["at_kill"]["messages"]}
    assert (killed["turns"], killed["status"]) == (2, figure["at_kill"]["status"])
    assert Decimal(killed["cost_usd"]) == figure["at_kill"]["cost_usd"]
    assert (resumed["turns"], resumed["status"]) == (3, figure["resumed"]["status"])
    assert Decimal(resumed["cost_usd"]) == figure["resumed"]["cost_usd"]
    assert report["notes"] == ["tool runs across both processes: listed:., read:errors.log."]


def test_both_processes_of_a_resumed_run_write_one_trace(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    rows("resume", "--trace", str(path))
    types = [json.loads(line)["type"] for line in path.read_text().splitlines()]
    assert types.count("turn") == 3
    assert types.count("run_resumed") == types.count("run_stopped") == 1


def test_stop_ends_the_tool_when_the_signal_reaches_it_and_only_then() -> None:
    by_name = rows("cancel", "--at", "0.7")
    cancelled, deaf, whole = (by_name[n] for n in ("cancelled", "request only", "uncancelled"))
    assert cancelled["status"] == FIGURES["cancel"]["cancelled"]["status"]
    assert cancelled["extra"]["reason"] == FIGURES["cancel"]["cancelled"]["reason"]
    assert len(cancelled["extra"]["progress at ms"]) == 1
    assert cancelled["effects"].get("scanned") is None
    assert whole["status"] == FIGURES["cancel"]["uncancelled"]["status"]
    assert len(whole["extra"]["progress at ms"]) == len(deaf["extra"]["progress at ms"]) == 6
    assert deaf["status"] == "interrupted"


def test_a_run_that_is_over_before_the_kill_is_called_neither_killed_nor_resumed() -> None:
    over, again = rows("resume", "--kill-after", "4").values()
    assert (over["policy"], again["policy"]) == ("over before turn 5", "started again")
    assert over["extra"]["exit"] == again["extra"]["exit"] == 0
    assert (again["turns"], again["cost_usd"]) == (over["turns"], over["cost_usd"])


def test_a_kill_before_the_first_turn_is_called_so() -> None:
    killed, resumed = rows("resume", "--kill-after", "0").values()
    assert (killed["policy"], killed["turns"]) == ("killed before turn 1", 0)
    assert (resumed["policy"], resumed["status"]) == ("resumed", "completed")
    assert killed["run_id"] == resumed["run_id"] != rows("resume")["resumed"]["run_id"]


def test_a_resumed_run_is_padded_as_any_other() -> None:
    prompts = rows("resume")["resumed"]["prompt_tokens"]
    padded = rows("resume", "--base-tokens", "1000")["resumed"]["prompt_tokens"]
    assert padded == [tokens + 1000 for tokens in prompts]


def test_a_stop_after_the_end_cancels_nothing_and_no_row_says_so() -> None:
    by_name = rows("cancel", "--at", "99")
    assert list(by_name) == ["uncancelled", "cancelled: too late", "request only: too late"]
    assert {row["status"] for row in by_name.values()} == {"completed"}
    assert {row["estimated"] for row in by_name.values()} == {False}


def test_what_a_lost_request_used_is_marked_as_an_estimate() -> None:
    by_name = rows("cancel", "--at", "0")
    sent, lost = msgspec.convert([by_name["uncancelled"], by_name["cancelled"]], list[Row])
    assert (sent.estimated, lost.estimated) == (False, True)
    report = Report(scenario="cancel", harness="harness", rows=[sent, lost])
    marked = [cell for cell in cells(lost, report) if cell.startswith("~")]
    assert marked[:3] == [f"~{lost.input_tokens:,}", f"~{lost.output_tokens:,}", cost(lost)]
    assert cost(lost) == f"~{usd(lost.cost_usd)}"
    assert not [cell for cell in cells(sent, report) if cell.startswith("~")]
    assert ESTIMATED in to_markdown(report)


def test_a_sub_agents_cost_is_in_its_parents_total_and_its_limit_a_sentence() -> None:
    by_name = rows("subagent")
    plain, child = by_name["one transcript"], by_name["sub-agent"]
    assert child["status"] == plain["status"] == "completed"
    assert child["input_tokens"] == sum(child["prompt_tokens"]) + child["extra"]["child's input"]
    assert max(child["prompt_tokens"]) < max(plain["prompt_tokens"])
    runaway = by_name["sub-agent runs away"]
    assert runaway["status"] == "completed"
    assert "no result" in runaway["answer"]


def test_with_events_nobody_waits_for_longer_than_one_reply() -> None:
    by_name = rows("latency", "--latency", "0,150")["150 ms"]
    assert by_name["extra"]["provider ms"] == 450
    assert by_name["wall_ms"] >= 450
    assert by_name["extra"]["silence ms"] < by_name["extra"]["silence without events ms"]


def test_forty_turns_of_honest_work_are_cut_by_a_cap_of_twenty_and_not_by_fifty() -> None:
    by_name = rows("long")
    cut, whole = by_name["cap 20"], by_name["cap 50"]
    assert (cut["turns"], cut["status"]) == (20, "max_turns_exceeded")
    assert (whole["turns"], whole["tool_runs"], whole["status"]) == (40, 39, "completed")
    assert whole["answer"] == "I read all 38 parts."


def test_an_approval_is_for_one_call_and_not_for_the_next_one() -> None:
    by_name = rows("publish")
    assert by_name["stop"]["effects"].get("published") is None
    assert by_name["approve once"]["effects"]["published"] == ["notes.txt"]
    assert by_name["approve all"]["effects"]["published"] == ["notes.txt", "notes.txt"]


def test_the_provider_is_warm_before_the_first_row_is_measured(options: Options) -> None:
    encoding.cache_clear()
    with open_endpoint(options) as endpoint:
        assert encoding.cache_info().currsize == 1
        assert endpoint.server is not None
        assert [exchange.status for exchange in endpoint.server.journal.exchanges()] == [200]
