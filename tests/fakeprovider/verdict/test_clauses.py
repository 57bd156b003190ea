"""Every clause: results are data, and say why a clause matters."""

from __future__ import annotations

import json

from small_harness import Bench, Harness

from fakeprovider.verdict import CLAUSES, Facts, to_json, verdict


def test_every_clause_has_a_rationale_a_link_and_a_name_of_its_own() -> None:
    results = verdict([], Facts())
    assert [result.clause for result in results] == list(CLAUSES)
    assert all(result.rationale.endswith(".") for result in results)
    assert all(result.link.startswith("https://github.com/") for result in results)
    assert {result.result for result in results} <= {"not applicable", "not observable"}


def test_results_are_data(bench: Bench) -> None:
    results = verdict(bench.run(Harness(cap=9), "runaway"), Facts(cap=8))
    data = json.loads(to_json(results))["clauses"]
    failed = [result for result in data if result["result"] == "fail"]
    assert [result["clause"] for result in failed] == ["cap", "identical_calls"]
    assert set(failed[0]) == {"clause", "result", "detail", "evidence", "rationale", "link"}
