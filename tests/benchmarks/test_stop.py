"""`bench stop` and `bench budgets`: what a condition stops and spares, what a budget keeps."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from fakeprovider_bench.cli import cli
from fakeprovider_bench.commands.stop import TRIALS, report
from fakeprovider_bench.options import Options
from fakeprovider_bench.output.printing import render_pairs
from fakeprovider_bench.report import Report, Row
from fakeprovider_harness.conditions.registry import STOP_CONDITIONS


def ran(*args: str) -> Any:
    result = CliRunner().invoke(cli, args, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(scope="module")
def stops() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(ran("stop", "--json"))["rows"]
    return rows


def test_every_condition_ends_what_it_must_and_spares_what_it_must(
    stops: list[dict[str, Any]],
) -> None:
    assert len(stops) == 2 * (len(TRIALS) + 1)
    assert {row["extra"]["verdict"] for row in stops} == {"ok"}
    for stopped, spared in zip(stops[::2], stops[1::2], strict=True):
        assert stopped["policy"] == spared["policy"]
        assert (stopped["extra"]["must"], spared["extra"]["must"]) == ("stop", "spare")
        assert stopped["stop"]["kind"] not in ("max_turns", "answered") or "MaxTurns" in str(
            stopped["policy"]
        )
        assert spared["status"] == "completed"


def test_a_reserve_that_a_tree_of_agents_shares_comes_out_the_same_every_time(
    stops: list[dict[str, Any]], options: Options
) -> None:
    of_trees = [trial for trial in TRIALS if trial.stops == "spender"]
    shared_reserve = next(row for row in stops if row["extra"]["scenario"] == "spender")
    assert not shared_reserve["estimated"]
    for _ in range(2):
        again = report(options, of_trees).rows[0]
        assert again.prompt_tokens == shared_reserve["prompt_tokens"]
        assert (again.input_tokens, again.output_tokens, f"{again.cost_usd:f}") == (
            shared_reserve["input_tokens"],
            shared_reserve["output_tokens"],
            shared_reserve["cost_usd"],
        )


UNTRIED = ["Says"]  # its words are said with an answer, which ends a run anyway


def without_trial() -> list[str]:
    """The registered conditions that `bench stop` does not try."""
    tried = {type(trial.condition).__name__ for trial in TRIALS}
    return [name for name, kind in STOP_CONDITIONS.items() if not kind.trials and name not in tried]


def test_every_registered_condition_has_its_trial() -> None:
    assert without_trial() == UNTRIED


def test_a_new_condition_without_its_trial_is_told_by_name() -> None:
    turns = STOP_CONDITIONS["MaxTurns"]
    STOP_CONDITIONS.add("BrandNew", replace(turns, trials=()))
    try:
        assert without_trial() == [*UNTRIED, "BrandNew"]
    finally:
        STOP_CONDITIONS.remove("BrandNew")


def test_the_table_has_a_line_for_each_condition(
    stops: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    rows = msgspec.convert([{**row, "stop": {"kind": "k"}} for row in stops], list[Row])
    render_pairs(Report(scenario="stop", harness="harness", rows=rows), "markdown")
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    assert len(lines) == 2 + len(stops) // 2
    assert lines[0].startswith("| condition | must stop | turns | cost |")
    assert all(line.endswith(("| ok |", "verdict |", "| --- |")) for line in lines)


def test_plain_budgets_are_overshot_by_up_to_a_turn_and_reserved_ones_never() -> None:
    rows = json.loads(ran("budgets", "--json"))["rows"]
    plain, reserved = rows[::2], rows[1::2]
    assert len(plain) == len(reserved) == 10
    for row in plain:
        assert 0 < Decimal(row["stop"]["overshoot"]) <= max(_turn_costs(row))
    for row in reserved:
        assert Decimal(row["stop"]["overshoot"]) == 0
        assert Decimal(row["cost_usd"]) <= Decimal(row["stop"]["limit"])
        assert row["stop"]["kind"] == "max_cost"
        assert row["turns"] > 0


def _turn_costs(row: dict[str, Any]) -> list[Decimal]:
    pairs = zip(row["prompt_tokens"], row["completion_tokens"], strict=True)
    return [(Decimal(prompt) * 2 + Decimal(out) * 12) / 1_000_000 for prompt, out in pairs]
