"""A scenario comes out the same in three dialects, whole and streamed, down to the last token."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from click.testing import CliRunner

from fakeprovider_bench.cli import cli

SCENARIOS = {
    "plan": ["plan"],
    "runaway": ["runaway", "--cap", "12", "--budget", "0.01"],
    "recover": ["recover"],
    "denied": ["denied"],
    "duplicate": ["duplicate"],
    "destructive": ["destructive"],
    "publish": ["publish"],
    "subagent": ["subagent"],
}
WAYS = [
    (protocol, form)
    for protocol in ("chat", "messages", "responses")
    for form in ("--whole", "--stream")
][1:]
OWN = {"wall_ms", "harness_ms", "run_id"}  # of each run


@cache
def rows(scenario: str, protocol: str, form: str) -> list[dict[str, Any]]:
    args = [*SCENARIOS[scenario], "--protocol", protocol, form, "--json"]
    result = CliRunner().invoke(cli, args)
    assert result.exit_code == 0, result.output
    return [
        {name: value for name, value in row.items() if name not in OWN}
        for row in json.loads(result.stdout)["rows"]
    ]


@pytest.mark.parametrize(("protocol", "form"), WAYS)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_turns_tools_effects_tokens_cost_and_status_do_not_depend_on_the_dialect(
    scenario: str, protocol: str, form: str
) -> None:
    assert rows(scenario, protocol, form) == rows(scenario, "chat", "--whole")


@pytest.mark.parametrize("protocol", ["chat", "messages", "responses"])
def test_a_prompt_cache_changes_the_bill_and_nothing_else(protocol: str) -> None:
    result = CliRunner().invoke(
        cli, ["runaway", "--cap", "40", "--prompt-cache", "--protocol", protocol, "--json"]
    )
    rows = {row["policy"]: row for row in json.loads(result.stdout)["rows"]}
    plain, cached = rows["cap 40"], rows["cap 40, cached"]
    assert plain["prompt_tokens"] == cached["prompt_tokens"]
    read = cached["extra"]["cached input"]
    written = cached["extra"].get("cache writes", 0)
    assert 0 < read < cached["input_tokens"]
    fresh = cached["input_tokens"] - read - written
    expected = 2 * fresh + 0.2 * read + 2.5 * written + 12 * cached["output_tokens"]
    assert float(cached["cost_usd"]) == pytest.approx(expected / 10**6)
    assert float(cached["cost_usd"]) < float(plain["cost_usd"]) / 2
