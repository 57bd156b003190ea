"""Every clause of the contract: it is on the page, a mutant breaks it, and reports promise it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path

import httpx
import pytest
import yaml

from fakeprovider.contract import CONTRACT, ContractClause, Limits, Report, check_stop_contract
from fakeprovider.contract.clauses import clause
from fakeprovider.contract.scripts import answering
from fakeprovider.contract.trial import Trial
from fakeprovider.verdict import CLAUSES, Clause
from fakeprovider.verdict.clause import Judgement, passed

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "verdicts.md").read_text().partition("## The contract")[2]
MUTANTS = yaml.safe_load((ROOT / "tests" / "mutants" / "mutants.yaml").read_text())
WITHOUT_A_MUTANT = "history"
"""The transcript of our own harness is append-only by its type: no patch breaks it."""


def rows() -> dict[str, str]:
    """What the table of clauses says that each needs of a report."""
    cells = re.findall(r"^\| `(\w+)` \|[^|]*\|([^|]*)\|[^|]*\|$", PAGE, re.MULTILINE)
    return {name: needs.strip().replace("`", "") for name, needs in cells}


def lacking(clauses: Mapping[str, ContractClause]) -> list[str]:
    """What the clauses lack of what each must have: a row on the page, and a mutant as its test."""
    broken = {mutant["clause"] for mutant in MUTANTS} | {WITHOUT_A_MUTANT}
    lacks = []
    for name, member in clauses.items():
        if name not in rows():
            lacks.append(f"{name}: its row in docs/verdicts.md")
        elif rows()[name] != member.promise:
            lacks.append(f"{name}: what it needs in docs/verdicts.md")
        if name not in broken:
            lacks.append(f"{name}: a mutant in tests/mutants/mutants.yaml")
    return lacks


def test_every_clause_has_its_row_and_its_mutant() -> None:
    assert lacking(CONTRACT) == []
    assert list(rows()) == list(CONTRACT)


def test_clauses_of_verdict_and_contract_are_of_one_type() -> None:
    assert all(isinstance(member, Clause) for member in [*CLAUSES.values(), *CONTRACT.values()])


def test_what_a_clause_needs_is_a_field_of_the_report() -> None:
    known = {field.name for field in fields(Report)}
    promised = {name for member in CONTRACT.values() for name in member.promise.split(" or ")}
    assert promised - {""} <= known
    assert CONTRACT["reported"].needs(Report(turns=0))
    assert not CONTRACT["reported"].needs(Report())
    assert not CONTRACT["overshoot"].needs(Report(turns=0))


@pytest.fixture
def dummy() -> Iterator[str]:
    """A clause that somebody has just added, and nothing else."""

    @clause("brand_new", answering(), why="It shows what one needs.", promise="budget")
    def brand_new(trial: Trial) -> Judgement:
        return passed("nothing is wrong")

    yield "brand_new"
    CONTRACT.remove("brand_new")


def test_a_new_clause_is_told_by_name_what_it_lacks(dummy: str) -> None:
    assert lacking(CONTRACT) == [
        f"{dummy}: its row in docs/verdicts.md",
        f"{dummy}: a mutant in tests/mutants/mutants.yaml",
    ]


def test_a_new_clause_is_checked_where_the_report_promises_it(dummy: str) -> None:
    def agent(base_url: str, limits: Limits) -> Report:
        messages = [{"role": "user", "content": limits.task}]
        with httpx.Client(transport=limits.transport) as client:
            client.post(f"{base_url}/chat/completions", json={"model": "m", "messages": messages})
        return Report(budget=True)

    (result,) = check_stop_contract(agent, clauses=dummy, in_process=True, examples=1)
    assert (result.clause, result.result) == (dummy, "pass")
