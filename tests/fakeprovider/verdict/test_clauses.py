"""Every clause: it is on the page, has its tests, says why it matters, and its result is data."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from small_harness import Bench, Harness

from fakeprovider.verdict import CLAUSES, Clause, Facts, to_json, verdict
from fakeprovider.verdict.clause import Judgement, clause, passed
from fakeprovider.verdict.run import Run

PAGE = (Path(__file__).parents[3] / "docs" / "verdicts.md").read_text()


def rows() -> dict[str, str]:
    """What the table of clauses says that each needs."""
    table = PAGE[: PAGE.index("## The contract")]
    return dict(re.findall(r"^\| `(\w+)` \|.*\| (.*?) ?\|.*\|$", table, re.MULTILINE))


def lacking(clauses: Mapping[str, Clause[Run]]) -> list[str]:
    """What the clauses lack of what each must have: a row on the page, and tests of its results."""
    modules = set(Path(__file__).parent.glob("test_*.py")) - {Path(__file__)}
    tests = "".join(module.read_text() for module in modules)
    lacks = []
    for name, member in clauses.items():
        if name not in rows():
            lacks.append(f"{name}: its row in docs/verdicts.md")
        elif member.ledger_only != rows()[name].startswith("ledger with decisions"):
            lacks.append(f"{name}: what it needs in docs/verdicts.md")
        if f'"{name}"' not in tests:
            lacks.append(f"{name}: a test of its results")
    return lacks


def test_every_clause_has_its_row_and_its_tests() -> None:
    assert lacking(CLAUSES) == []
    assert list(rows()) == list(CLAUSES)


@pytest.fixture
def dummy() -> Iterator[str]:
    """A clause that somebody has just added, and nothing else."""

    @clause("brand" + "_new", why="It shows what one needs.", source="owner/repository#1")
    def brand_new(run: Run) -> Judgement:
        return passed("nothing is wrong")

    yield "brand_new"
    CLAUSES.remove("brand_new")


def test_a_new_clause_is_told_by_name_what_it_lacks(dummy: str) -> None:
    assert lacking(CLAUSES) == [
        f"{dummy}: its row in docs/verdicts.md",
        f"{dummy}: a test of its results",
    ]


def test_a_new_clause_is_judged(dummy: str) -> None:
    (result,) = verdict([], only=[dummy])
    assert (result.result, result.link) == (
        "pass",
        "https://github.com/owner/repository/issues/1",
    )
    assert verdict([])[-1].clause == dummy


def test_a_new_clause_can_be_named_as_a_gate() -> None:
    code = (
        "from fakeprovider.cli import main\n"
        "from fakeprovider.verdict.clause import clause, passed\n"
        "clause('brand_new', why='-', source='a/b#1')(lambda run: passed('-'))\n"
        "main(['exec', '--help'])"
    )
    help_text = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert "side_requests, brand_new, or any." in " ".join(help_text.split())


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
