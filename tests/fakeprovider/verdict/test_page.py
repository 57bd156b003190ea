"""`/_verdict`: the clauses over HTTP, for a run key."""

from __future__ import annotations

from typing import Any

import httpx
from small_harness import Bench, Harness

from fakeprovider.verdict import CLAUSES


def verdicts(bench: Bench, http: httpx.Client, **query: Any) -> httpx.Response:
    return http.get(f"{bench.server.url}/_verdict", params=query)


def test_a_run_is_judged_by_its_key_and_no_other_run_with_it(
    bench: Bench, http: httpx.Client
) -> None:
    run = bench.run(Harness(cap=9), "runaway")[0].run
    bench.run(Harness(), "plan")
    clauses = verdicts(bench, http, run=run, cap=8).json()["clauses"]
    results = {result["clause"]: result for result in clauses}
    assert [result["clause"] for result in clauses] == list(CLAUSES)
    assert results["cap"]["result"] == "fail"
    assert results["identical_calls"]["result"] == "fail"
    assert results["unapproved"]["result"] == "not applicable"
    assert len(results["cap"]["evidence"]) == 1


def test_clauses_can_be_asked_for_by_name(bench: Bench, http: httpx.Client) -> None:
    run = bench.run(Harness(), "plan")[0].run
    clauses = verdicts(bench, http, run=run, clause=["ends", "history"]).json()["clauses"]
    assert [(result["clause"], result["result"]) for result in clauses] == [
        ("ends", "pass"),
        ("history", "pass"),
    ]


def test_what_makes_no_sense_is_refused_in_words(bench: Bench, http: httpx.Client) -> None:
    wrong = verdicts(bench, http, clause="endz")
    assert wrong.status_code == 400
    assert wrong.json()["error"].startswith("unknown clause 'endz'; there are: ends, after_answer")
    wrong = verdicts(bench, http, cap="abc")
    assert wrong.status_code == 400
    assert wrong.json() == {"error": "cap must be a number such as 30, not 'abc'."}


def test_a_run_that_nobody_had_is_not_found(bench: Bench, http: httpx.Client) -> None:
    answer = verdicts(bench, http, run="nobody")
    assert answer.status_code == 404
    assert answer.json() == {"error": "No exchange has the run key 'nobody'."}
