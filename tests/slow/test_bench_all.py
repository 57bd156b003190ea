"""`bench all` runs every scenario to its end."""

from __future__ import annotations

import json

from click.testing import CliRunner

from fakeprovider_bench.cli import cli


def test_all_prints_one_report_per_scenario() -> None:
    result = CliRunner().invoke(cli, ["all", "--json", "--fail-over-cost", "10"])
    assert result.exit_code == 0, result.output
    names = [report["scenario"] for report in json.loads(result.stdout)]
    assert {"plan", "runaway", "recover", "denied", "duplicate"} <= set(names)
    assert {"destructive", "publish", "subagent", "resume", "cancel", "latency"} <= set(names)
