"""The published figures come out of `bench --json`, over a real socket, to the last digit."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

FIGURES = json.loads(
    (Path(__file__).parents[1] / "reference_figures.json").read_text(encoding="utf-8"),
    parse_float=Decimal,
)
FORMS = ["--whole", "--stream"]


def bench(*args: str) -> dict[str, Any]:
    command = [sys.executable, "-P", "-m", "fakeprovider_bench", *args, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def totals(row: dict[str, Any]) -> tuple[Any, ...]:
    return (
        row["turns"],
        row["tool_runs"],
        row["input_tokens"],
        row["output_tokens"],
        Decimal(row["cost_usd"]),
    )


def published(figure: dict[str, Any]) -> tuple[Any, ...]:
    return (
        figure["turns"],
        figure["tool_runs"],
        figure["input"],
        figure["output"],
        figure["cost_usd"],
    )


def by_name(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["policy"]: row for row in report["rows"]}


@pytest.mark.parametrize("form", FORMS)
def test_plan_has_the_published_turns_tokens_cost_and_answer(form: str) -> None:
    figure = FIGURES["plan"]
    (row,) = bench("plan", form)["rows"]
    assert totals(row) == published(figure)
    assert row["prompt_tokens"] == figure["prompt_tokens"]
    assert row["completion_tokens"] == figure["completion_tokens"]
    assert (row["status"], row["answer"]) == (figure["status"], figure["answer"])


@pytest.mark.parametrize("form", FORMS)
def test_runaway_by_cap_has_the_published_totals(form: str) -> None:
    report = bench("runaway", form, "--cap", "8,20,50,100")
    assert [totals(row) for row in report["rows"]] == [
        published(figure) for figure in FIGURES["runaway_by_cap"]
    ]
    assert all(row["status"] == "max_turns_exceeded" for row in report["rows"])
    assert all(row["stop"]["overshoot"] == 0 for row in report["rows"])


def test_runaway_follows_the_closed_form_and_the_growth_says_so() -> None:
    report = bench("runaway", "--cap", "100")
    prompts = report["rows"][0]["prompt_tokens"]
    assert prompts == [204] + [205 + 64 * (t - 1) for t in range(2, 101)]
    growth = report["growth"]
    assert math.isclose(growth["b"], 32, rel_tol=0.001)
    assert math.isclose(growth["a"] + growth["b"], 205, rel_tol=0.001)
    assert 1.8 < growth["exponent"] < 2
    assert growth["residual"] < 1


def test_the_ratios_of_the_caps_are_the_published_ones() -> None:
    rows = by_name(bench("runaway", "--cap", "50,100"))
    half, whole = rows["cap 50"], rows["cap 100"]
    cost = Decimal(whole["cost_usd"]) / Decimal(half["cost_usd"])
    assert round(cost, 1) == FIGURES["ratios"]["runaway_cost_100_over_50"]
    tokens = Decimal(whole["input_tokens"]) / half["input_tokens"]
    assert round(tokens, 1) == FIGURES["ratios"]["runaway_input_100_over_50"]


@pytest.mark.parametrize("form", FORMS)
def test_runaway_by_budget_overshoots_by_at_most_the_last_turn(form: str) -> None:
    report = bench("runaway", form, "--budget", "0.01,0.05,0.10,1.00")
    for row, figure in zip(report["rows"], FIGURES["runaway_by_budget"], strict=True):
        assert totals(row)[0] == figure["turns"]
        assert totals(row)[2:] == (figure["input"], figure["output"], figure["cost_usd"])
        assert row["status"] == "budget_exceeded"
        last = Decimal(2 * row["prompt_tokens"][-1] + 12 * row["completion_tokens"][-1]) / 10**6
        overshoot = Decimal(row["stop"]["overshoot"])
        assert overshoot == figure["cost_usd"] - figure["budget_usd"]
        assert 0 <= overshoot <= last


def test_padding_enlarges_the_first_prompt_by_exactly_as_many_tokens() -> None:
    (row,) = bench("plan", "--base-tokens", "1000")["rows"]
    assert row["prompt_tokens"] == [tokens + 1000 for tokens in FIGURES["plan"]["prompt_tokens"]]


def test_one_cap_alone_is_weighed_against_budgets_and_a_cap_in_the_prompt() -> None:
    rows = by_name(bench("runaway", "--cap", "50"))
    assert rows["cap 50"]["turns"] == rows["prompt-only (20)"]["turns"] == 50
    assert rows["budget $0.01"]["turns"] == 9
    assert rows["prompt-only (20)"]["stop"]["kind"] == "max_turns"


def test_recover_costs_what_its_error_policy_makes_it_cost() -> None:
    rows = by_name(bench("recover"))
    for figure in FIGURES["recover_by_error_policy"]:
        row = rows[figure["policy"]]
        assert (row["turns"], row["tool_runs"]) == (figure["turns"], figure["tool_runs"])
        assert row["status"] == figure["status"]
        if "cost_usd" in figure:
            assert totals(row) == published(figure)
        if "answer" in figure:
            assert row["answer"] == figure["answer"]
    assert rows["instructive"]["prompt_tokens"] == [204, 280, 345, 418]
    ratio = Decimal(rows["instructive"]["cost_usd"]) / Decimal(rows["fatal"]["cost_usd"])
    assert round(ratio, 1) == FIGURES["ratios"]["recover_instructive_over_fatal"]


def test_denied_runs_to_its_cap_unless_permanent_errors_are_told_apart() -> None:
    rows = by_name(bench("denied"))
    figure = FIGURES["denied"]
    assert totals(rows["cap 12"]) == published(figure)
    assert (rows["cap 12"]["status"], rows["cap 12"]["answer"]) == (figure["status"], "")
    assert (rows["permanent stops"]["status"], rows["permanent stops"]["turns"]) == ("failed", 1)
    mended = rows["mended (recover)"]
    assert totals(mended) == totals(by_name(bench("recover"))["instructive"])
    ratio = Decimal(rows["cap 12"]["cost_usd"]) / Decimal(mended["cost_usd"])
    assert round(ratio, 1) == FIGURES["ratios"]["denied_over_recover"]


def test_duplicate_costs_three_quarters_more_and_a_naive_cache_loses_a_write() -> None:
    figures = FIGURES["duplicate"]
    rows = by_name(bench("duplicate"))
    assert totals(rows["baseline"]) == published(figures["baseline"])
    assert totals(rows["repeated"]) == published(figures["repeated"])
    assert totals(rows["repeated, cached"]) == published(figures["repeated_cached"])
    base, repeated = (Decimal(rows[name]["cost_usd"]) for name in ("baseline", "repeated"))
    assert repeated - base == figures["repeated"]["extra_cost_usd"]
    assert round(100 * (repeated - base) / base, 1) == figures["repeated"]["extra_percent"]
    for name, figure in (
        ("write, naive cache", figures["write_naive_cache"]),
        ("write, read-only cache", figures["write_read_only_cache"]),
    ):
        row = rows[name]
        assert (row["turns"], row["tool_runs"]) == (figure["turns"], figure["tool_runs"])
        assert row["effects"]["deleted"] == figure["deleted"]


def test_destructive_stops_before_the_deletion_and_reports_each_decision() -> None:
    figures = FIGURES["destructive"]
    rows = by_name(bench("destructive"))
    stopped, figure = rows["stop"], figures["stop"]
    assert (stopped["turns"], stopped["status"]) == (figure["turns"], figure["status"])
    assert stopped["prompt_tokens"] == figure["prompt_tokens"]
    assert stopped["completion_tokens"] == figure["completion_tokens"]
    assert Decimal(stopped["cost_usd"]) == figure["cost_usd"]
    assert (stopped["stop"]["kind"], stopped["effects"]["deleted"]) == ("approval", [])
    for name in ("approve", "reject with reason", "reject with nothing"):
        row, figure = rows[name], figures[name.replace(" ", "_")]
        assert (row["turns"], row["answer"]) == (figure["turns"], figure["answer"])
        assert row["effects"]["deleted"] == figure["deleted"]


def test_the_trace_of_destructive_is_the_published_one_event_by_event(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    bench("destructive", "--trace", str(path))
    events = [json.loads(line, parse_float=Decimal) for line in path.read_text().splitlines()]
    first_run = [event for event in events if event["run_id"] == events[0]["run_id"]]
    expected = FIGURES["trace_destructive"]
    assert len(first_run) == len(expected)
    for event, figure in zip(first_run, expected, strict=True):
        assert {key: event[key] for key in figure} == figure
