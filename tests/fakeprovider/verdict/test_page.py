"""`/_verdict`: the clauses over HTTP, for a run key."""

from __future__ import annotations

from typing import Any

import httpx

from fakeprovider.verdict import CLAUSES


def verdicts(bench: Any, http: httpx.Client, **query: Any) -> httpx.Response:
    return http.get(f"{bench.server.url}/_verdict", params=query)


def test_a_run_is_judged_by_its_key_and_no_other_run_with_it(
    bench: Any, harness: Any, http: httpx.Client
) -> None:
    run = bench.run(harness(cap=9), "runaway")[0].run
    bench.run(harness(), "plan")
    found = verdicts(bench, http, run=run, cap=8).json()["clauses"]
    assert [one["clause"] for one in found] == list(CLAUSES)
    results = {one["clause"]: one for one in found}
    assert results["cap"]["result"] == "fail"
    assert results["identical_calls"]["result"] == "fail"
    assert results["unapproved"]["result"] == "not applicable"
    assert len(results["cap"]["evidence"]) == 1


def test_clauses_can_be_asked_for_by_name(bench: Any, harness: Any, http: httpx.Client) -> None:
    run = bench.run(harness(), "plan")[0].run
    found = verdicts(bench, http, run=run, clause=["ends", "history"]).json()["clauses"]
    assert [(one["clause"], one["result"]) for one in found] == [
        ("ends", "pass"),
        ("history", "pass"),
    ]


def test_what_makes_no_sense_is_refused_in_words(bench: Any, http: httpx.Client) -> None:
    wrong = verdicts(bench, http, clause="endz")
    assert wrong.status_code == 400
    assert wrong.json()["error"].startswith("unknown clause 'endz'; there are: ends, after_answer")
    wrong = verdicts(bench, http, cap="abc")
    assert wrong.status_code == 400
    assert wrong.json() == {"error": "cap must be a number such as 30, not 'abc'."}


def test_a_run_that_nobody_had_is_not_found(bench: Any, http: httpx.Client) -> None:
    found = verdicts(bench, http, run="nobody")
    assert found.status_code == 404
    assert found.json() == {"error": "No exchange has the run key 'nobody'."}
