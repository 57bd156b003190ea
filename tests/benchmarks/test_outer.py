"""`bench outer`: per loop when it starts, what an iteration costs and why it stopped."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest


@pytest.fixture(scope="module")
def rows() -> dict[str, dict[str, Any]]:
    command = [sys.executable, "-P", "-m", "fakeprovider_bench", "outer", "--json"]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert finished.returncode == 0, finished.stderr
    return {row["policy"]: row for row in json.loads(finished.stdout)["rows"]}


@pytest.mark.parametrize(
    ("policy", "kind", "status", "verified"),
    [
        ("ralph, finishes", "plan_empty", "done", "yes"),
        ("ralph, never finishes", "no_progress", "not done", "no"),
        ("ralph, falsely claims", "no_progress", "not done", "no"),
        ("ralph, apologises", "no_progress", "not done", "no"),
        ("ralph, quotes marker", "no_progress", "not done", "no"),
        ("loop, interval", "max_iterations", "not done", "no"),
        ("loop, own pace", "ended_by_model", "done", "no"),
        ("loop, never finishes", "max_iterations", "not done", "no"),
        ("loop, apologises", "idle", "not done", "no"),
        ("goal, finishes", "met", "done", "yes"),
        ("goal, never met", "max_iterations", "not done", "no"),
        ("goal, falsely claims", "max_iterations", "not done", "no"),
        ("goal, apologises", "claimed", "not done", "no"),
        ("goal, idle", "idle", "not done", "no"),
        ("goal, junk evaluator", "unclear", "not done", "no"),
    ],
)
def test_every_loop_ends_and_only_the_work_that_was_done_counts_as_done(
    rows: dict[str, Any], policy: str, kind: str, status: str, verified: str
) -> None:
    row = rows[policy]
    assert (row["stop"]["kind"], row["status"], row["extra"]["verified"]) == (
        kind,
        status,
        verified,
    )


def test_a_fresh_run_keeps_its_context_and_a_conversation_does_not(rows: dict[str, Any]) -> None:
    def context(policy: str) -> list[int]:
        return [int(part) for part in rows[policy]["extra"]["context"].split(" → ")]

    first, last = context("ralph, finishes")
    assert first == last
    for policy in ("loop, interval", "goal, finishes"):
        first, last = context(policy)
        assert last > 4 * first


def test_the_work_is_in_the_workspace_where_it_is_said_to_be(rows: dict[str, Any]) -> None:
    written = {name: row["effects"].get("wrote", []) for name, row in rows.items()}
    files = {"alpha.txt", "beta.txt", "gamma.txt"}
    for name in ("ralph, finishes", "loop, own pace", "goal, finishes"):
        assert files <= set(written[name])
    assert set(written["ralph, falsely claims"]) == {"plan.md"}
    assert written["ralph, apologises"] == []


def test_the_evaluator_s_tokens_are_in_the_bill_of_a_goal(rows: dict[str, Any]) -> None:
    row = rows["goal, finishes"]
    assert row["input_tokens"] > sum(row["prompt_tokens"])
    assert rows["ralph, finishes"]["input_tokens"] == sum(rows["ralph, finishes"]["prompt_tokens"])


def test_a_row_of_several_runs_names_them_all(rows: dict[str, dict[str, Any]]) -> None:
    afresh, together = rows["ralph, finishes"], rows["goal, finishes"]
    assert len(set(afresh["run_ids"])) == afresh["extra"]["iterations"] > 1
    assert afresh["run_id"] == afresh["run_ids"][-1]
    assert together["run_ids"] == [together["run_id"]]
