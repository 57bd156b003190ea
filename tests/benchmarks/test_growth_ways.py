"""`bench growth`: what each way to cut a history costs and loses, over a real socket."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from msgspec import convert

from fakeprovider_bench.output.tables import summary
from fakeprovider_bench.report import Report, Row


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    command = [sys.executable, "-P", "-m", "fakeprovider_bench", "growth", "--json"]
    command += ["--parts", "20", "--window", "4000"]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert finished.returncode == 0, finished.stderr
    data: dict[str, Any] = json.loads(finished.stdout)
    return data


@pytest.fixture(scope="module")
def rows(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["policy"]: row for row in report["rows"]}


def test_tool_definitions_are_162_of_the_first_204_tokens_of_plan(report: dict[str, Any]) -> None:
    assert "162 of the first 204 tokens of plan" in report["notes"][0]


def test_what_is_drawn_out_is_the_run_whose_history_was_never_cut(report: dict[str, Any]) -> None:
    made = Report(scenario="growth", harness="harness", rows=convert(report["rows"], list[Row]))
    longest = max(made.rows, key=lambda row: row.turns)
    assert (longest.policy, longest.grows) == ("notes on demand", False)
    assert summary(made)[0].startswith("growth (none): input ≈ ")
    assert report["growth"]["residual"] < 1
    assert report["growth"]["exponent"] > 1.8


def test_a_bill_whose_prompts_shrink_is_not_drawn_out() -> None:
    cut = Row(
        policy="cut",
        turns=10,
        tool_runs=9,
        prompt_tokens=[100, 200, 300, 400, 500] * 2,
        completion_tokens=[1] * 10,
        input_tokens=3_000,
        output_tokens=10,
        cost_usd=None,
        status="completed",
    )
    line = summary(Report(scenario="s", harness="h", rows=[cut]))[0]
    assert line.startswith("growth (cut): exponent 1.00; prompts shrink")
    assert "10 → 20 turns" not in line


def test_every_way_completes_and_only_dropped_results_are_lost(rows: dict[str, Any]) -> None:
    assert {row["stop"]["kind"] for row in rows.values()} == {"answered"}
    facts = {name: row["extra"]["facts"] for name, row in rows.items()}
    dropped = facts.pop("drop old results")
    assert set(facts.values()) == {"20 of 20"}
    assert dropped.endswith("wrong")


def test_without_a_policy_the_bill_grows_with_the_square_and_with_each_of_them_it_is_flatter(
    rows: dict[str, Any],
) -> None:
    exponents = {name: float(row["extra"]["exponent"]) for name, row in rows.items()}
    worst = exponents.pop("none")
    assert 1.8 < worst < 2
    assert max(exponents.values()) < worst
    costs = {name: float(row["cost_usd"]) for name, row in rows.items()}
    assert max(costs, key=lambda name: costs[name]) == "none"


def test_the_parts_of_each_prompt_add_up_to_what_was_charged_summaries_included(
    rows: dict[str, Any],
) -> None:
    for name, row in rows.items():
        parts = row["prompt_parts"]
        whole = [sum(prompt) for prompt in zip(*parts.values(), strict=True)]
        own = row["input_tokens"] if name != "sub-agent" else sum(row["prompt_tokens"])
        assert sum(whole) == own
        assert len(set(parts["tools"])) == 1, "the tax is the same in every prompt"
    summarised = rows["summarise"]
    assert len(summarised["prompt_parts"]["system"]) > summarised["turns"]
    assert sum(rows["sub-agent"]["prompt_tokens"]) < rows["sub-agent"]["input_tokens"] / 4
